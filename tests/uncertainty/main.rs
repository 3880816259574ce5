//! Uncertainty of profiles: the statistics against another implementation, coverage and false alarms by simulation, and
//! findings on recordings whose trouble is known.

mod coverage;
mod findings;
mod made;
mod reference;
