//! Tables by columns: those that hold nothing in any row are left out.

/// A column.
pub(in crate::report) struct Column {
    head: String,
    cells: Vec<Option<String>>,
}

impl Column {
    /// Of words.
    pub(in crate::report) fn words(name: &str, cells: impl IntoIterator<Item = Option<String>>) -> Column {
        Column { head: format!("<th data-sort>{name}"), cells: cells.into_iter().collect() }
    }

    /// Of numbers, which stand on the right.
    pub(in crate::report) fn numbers(name: &str, cells: impl IntoIterator<Item = Option<String>>) -> Column {
        Column { head: format!("<th class=n data-sort>{name}"), cells: cells.into_iter().collect() }
    }
}

/// The table; cells are whole `td` elements.
pub(in crate::report) fn table(mut columns: Vec<Column>) -> String {
    columns.retain(|column| column.cells.iter().any(Option::is_some));
    let heads: String = columns.iter().map(|column| column.head.as_str()).collect();
    let mut html = format!("<div class=panel><table><thead><tr>{heads}</thead><tbody>");
    let rows = columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
    for row in 0..rows {
        let cells = columns.iter().map(|column| column.cells.get(row).and_then(Option::as_deref));
        html += "<tr>";
        html.extend(cells.map(|cell| cell.unwrap_or("<td></td>")));
        html += "</tr>";
    }
    html + "</tbody></table></div>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_columns_are_left_out_and_empty_cells_are_not() {
        let cell = |text: &str| Some(format!("<td>{text}</td>"));
        let columns = vec![
            Column::words("a", [cell("1"), cell("2")]),
            Column::numbers("b", [None, None]),
            Column::numbers("c", [None, cell("3")]),
        ];
        let html = table(columns);
        assert!(html.contains("<th data-sort>a<th class=n data-sort>c</thead>"), "{html}");
        assert!(html.contains("<tr><td>1</td><td></td></tr><tr><td>2</td><td>3</td></tr>"), "{html}");
    }
}
