//! Markers for the regions whose model was rejected.

use super::format::{INTERVAL, MarkerField, MarkerSchema, Markers, Rejected};
use super::tables::{OTHER, Tables};
use crate::export::plain;
use crate::report::{RegionReport, Verdict, brief};

const TYPE: &str = "RejectedModel";

/// How the front end shows them.
pub(super) fn schema() -> MarkerSchema {
    let field = |key, label, format| MarkerField { key, label, format };
    MarkerSchema {
        name: TYPE,
        tooltip_label: "Model rejected",
        table_label: "{marker.data.functions}: {marker.data.reason}",
        chart_label: "{marker.data.functions}",
        display: ["marker-chart", "marker-table"],
        fields: vec![
            field("functions", "Functions", "string"),
            field("samples", "Samples", "integer"),
            field("answer", "Answer instead", "string"),
            field("reason", "Why", "string"),
        ],
        description: "Functions whose samples the model did not explain: their correction is that of a simpler one.",
    }
}

/// One marker per rejected region (none where a model is never tried) of `event`, each over the time of the track that shows it.
pub(super) fn markers(
    regions: &[RegionReport],
    event: &str,
    span: (f64, f64),
    tables: &mut Tables,
) -> Markers {
    let mut markers = Markers::default();
    let rejected =
        |r: &&RegionReport| matches!(r.verdict, Verdict::Argmin | Verdict::Flow | Verdict::Unchanged);
    let asked = regions.iter().filter(|r| r.tells && r.event == event);
    let mut regions: Vec<_> = asked.filter(rejected).collect();
    regions.sort_by_key(|region| std::cmp::Reverse(region.samples));
    for region in regions {
        markers.data.push(Rejected {
            r#type: TYPE,
            functions: plain(&region.functions.join(", ")),
            samples: region.samples,
            answer: brief(region.verdict),
            reason: plain(&region.reason),
        });
        markers.name.push(tables.string("Model rejected"));
        markers.start_time.push(span.0);
        markers.end_time.push(span.1);
        markers.phase.push(INTERVAL);
        markers.category.push(OTHER);
        markers.length += 1;
    }
    markers
}
