//! Variance among calls of a function: FVSampler's report.
//!
//! In: a recording of calls, as `skidconv record --variance` writes it. Out: per function and calling context mean, standard
//! deviation and coefficient of variation of what calls counted, split into what differs within threads and between them;
//! what to do about it; and calls over time. It knows nothing of skid.
//!
//! After *Pinpointing Performance Inefficiencies via Lightweight Variance Profiling* (Su, Jiao, Chabbi, Liu, SC'19).

pub mod code;
mod csv;
mod html;
pub mod lines;
mod moments;
pub mod recording;
mod summary;
mod text;
mod timeline;

pub use csv::write_csv;
pub use html::write_html;
pub use moments::{Moments, Split};
pub use recording::{Error, Recording};
pub use summary::{Advice, Group, Summary};
pub use text::render;
pub use timeline::write_svg;
