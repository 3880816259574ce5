//! Running the built-in loops, and telling of what they show.

use anyhow::Context;
use skidconv::export::plain;
use skidconv::skid::Calibration;
use skidconv::skid::calibration::{EventSkid, Sampled};
use skidconv_recorder::Machine;
use skidconv_recorder::calibrate::{Measured, measure};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// Measures, stores and tells.
pub fn calibrate(time: Duration, folder: &Path) -> anyhow::Result<()> {
    let machine = Machine::this().context("cannot tell what machine this is")?;
    anyhow::ensure!(!machine.cpuid.is_empty(), "the system does not say what processor this is");
    let measured = measure(time, &mut |event| {
        let _ = writeln!(io::stderr(), "skidconv: measuring {event}");
    })?;
    anyhow::ensure!(!measured.is_empty(), "there are no loops for this architecture: x86-64 has them");
    let sampled: Vec<Sampled<'_>> = measured.iter().map(sampled).collect();
    let found = Calibration::fit(&machine.cpuid, &machine.processor, &machine.release, &sampled);
    let told = found.events.values().any(|event| event.late.is_some() || event.cycles.is_some());
    anyhow::ensure!(told, "too few samples to tell anything: give more time with --duration");
    let failed = || format!("cannot store the calibration in {}", folder.display());
    let path = found.store(folder).with_context(failed)?;
    let mut text = format!("{}\n", plain(&format!("{} ({})", machine.processor, machine.cpuid)));
    text.extend(found.events.iter().map(|(name, event)| line(name, event)));
    text += &format!("stored in {}\n", path.display());
    Ok(io::stdout().write_all(text.as_bytes())?)
}

fn sampled(of: &Measured) -> Sampled<'_> {
    Sampled {
        event: &of.event,
        code: of.code,
        address: of.address,
        bytes: &of.bytes,
        samples: &of.samples,
        turns: (of.turns, of.per_turn.0),
        count: of.count,
    }
}

fn line(name: &str, event: &EventSkid) -> String {
    let late = match event.late {
        None => "nothing was waited for long enough to tell".to_owned(),
        Some(false) => "reported on the instruction waited for".to_owned(),
        Some(true) if event.second == 0.0 => "reported one behind the instruction waited for".to_owned(),
        Some(true) => {
            let second = 100.0 * event.second;
            format!("reported one behind the instruction waited for, {second:.0} % of them two")
        }
    };
    let spread =
        event.cycles.map(|s| format!("; skid {:.0} cycles, × or ÷ {:.1}", s.median, s.deviation.exp()));
    format!("  {name:<16} {:>8} samples: {late}{}\n", event.samples, spread.unwrap_or_default())
}
