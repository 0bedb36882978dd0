//! The results, for people (a table) and for programs (JSON), and their place in the documentation.

use serde_json::{Value, json};

use crate::summary::{Comparison, Line};

/// All that is known when the measurements are done.
#[derive(Debug)]
pub(crate) struct Report {
    /// The database, with its version.
    pub(crate) database: String,
    pub(crate) n_cores: usize,
    pub(crate) n_rounds: usize,
    /// Each store, by the number of its accesses. The largest is first.
    pub(crate) stores: Vec<(u64, Vec<Line>)>,
}

impl Report {
    /// How many goals were missed.
    pub(crate) fn n_missed(&self) -> usize {
        self.stores.iter().flat_map(|(_, lines)| lines).map(Line::n_missed).sum()
    }

    /// Everything in Markdown that is also readable as it is.
    pub(crate) fn markdown(&self) -> String {
        let cores =
            if self.n_cores == 1 { "1 core".into() } else { format!("{} cores", self.n_cores) };
        let mut text = format!(
            "{}, {cores} for the server, its database and the client; medians of {} rounds.\n",
            self.database, self.n_rounds
        );
        let small = self.stores.iter().map(|(n_accesses, _)| *n_accesses).min().unwrap_or_default();
        for (n_accesses, lines) in &self.stores {
            let table = layout(&table(lines, small));
            text += &format!("\n**{} accesses**\n\n{table}", with_commas(*n_accesses));
        }
        match self.n_missed() {
            0 => text += "\nEvery goal is met.\n",
            n => text += &format!("\nGoals that are missed, in bold: {n}.\n"),
        }
        text
    }

    /// The same, for programs.
    pub(crate) fn json(&self) -> Value {
        let stores = self.stores.iter().map(|(n_accesses, lines)| {
            json!({"accesses": n_accesses, "cases": lines.iter().map(line_json).collect::<Vec<_>>()})
        });
        json!({
            "database": self.database,
            "cores": self.n_cores,
            "rounds": self.n_rounds,
            "missed": self.n_missed(),
            "stores": stores.collect::<Vec<_>>(),
        })
    }
}

/// Puts new text between the lines `<!-- bench:NAME -->` and `<!-- /bench -->`; `None` where a page has
/// no such place.
pub(crate) fn replace_section(page: &str, name: &str, text: &str) -> Option<String> {
    let opening = format!("<!-- bench:{name} -->\n");
    let (before, rest) = page.split_once(&opening)?;
    let (_, after) = rest.split_once("<!-- /bench -->")?;
    Some(format!("{before}{opening}\n{text}\n<!-- /bench -->{after}"))
}

fn table(lines: &[Line], small: u64) -> Vec<Vec<String>> {
    let on_large = lines.iter().any(|line| line.beside_small.is_some());
    let with_database = lines.iter().any(|line| line.typical.database_cpu_us.is_some());
    let head = ["list", "page", "accesses", "CPU µs", "÷ first page"].map(str::to_owned);
    let mut head = head.to_vec();
    if on_large {
        head.push(format!("÷ {}", with_commas(small)));
    }
    if with_database {
        head.push("database CPU µs".to_owned());
    }
    head.extend(["p50 µs", "p99 µs", "requests/s"].map(str::to_owned));

    let rows = lines.iter().map(|line| {
        let typical = &line.typical;
        let mut row = vec![
            line.list.to_owned(),
            line.page.to_owned(),
            with_commas(line.total),
            rounded(typical.cpu_us),
            show(&line.beside_first),
        ];
        if on_large {
            row.push(line.beside_small.as_ref().map(show).unwrap_or_default());
        }
        if with_database {
            row.push(typical.database_cpu_us.map(rounded).unwrap_or_default());
        }
        row.extend([typical.p50_us, typical.p99_us, typical.requests_per_second].map(rounded));
        row
    });
    std::iter::once(head).chain(rows).collect()
}

/// A Markdown table whose columns stand under each other; texts to the left, figures to the right.
pub(crate) fn layout(rows: &[Vec<String>]) -> String {
    /// List and page.
    const N_TEXT_COLUMNS: usize = 2;
    let Some((head, body)) = rows.split_first() else { return String::new() };
    let n_chars = |text: &String| text.chars().count();
    let widths: Vec<usize> = (0..head.len())
        .map(|column| rows.iter().map(|row| n_chars(&row[column])).max().unwrap_or_default().max(3))
        .collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            if column < N_TEXT_COLUMNS {
                format!(" {cell:<width$} |")
            } else {
                format!(" {cell:>width$} |")
            }
        });
        format!("|{}\n", cells.collect::<String>())
    };
    let rule = widths.iter().enumerate().map(|(column, width)| {
        if column < N_TEXT_COLUMNS {
            format!("{}|", "-".repeat(width + 2))
        } else {
            format!("{}:|", "-".repeat(width + 1))
        }
    });
    let rule = format!("|{}\n", rule.collect::<String>());
    line(head) + &rule + &body.iter().map(line).collect::<String>()
}

/// The ratio, beside its goal where there is one.
pub(crate) fn show(comparison: &Comparison) -> String {
    let Comparison { ratio, goal } = comparison;
    // A goal is shown as it is written in code: 1.5, 2.0, 1.15.
    match goal {
        None => format!("{ratio:.2}"),
        Some(goal) if comparison.is_missed() => format!("**{ratio:.2} > {goal:?}**"),
        Some(goal) => format!("{ratio:.2} ≤ {goal:?}"),
    }
}

fn line_json(line: &Line) -> Value {
    let comparison = |it: &Comparison| json!({"ratio": hundredths(it.ratio), "goal": it.goal});
    json!({
        "list": line.list,
        "page": line.page,
        "total": line.total,
        "cpu_us": hundredths(line.typical.cpu_us),
        "database_cpu_us": line.typical.database_cpu_us.map(hundredths),
        "beside_first_page": comparison(&line.beside_first),
        "beside_small_store": line.beside_small.as_ref().map(comparison),
        "p50_us": hundredths(line.typical.p50_us),
        "p99_us": hundredths(line.typical.p99_us),
        "requests_per_second": hundredths(line.typical.requests_per_second),
    })
}

/// More digits would be noise.
pub(crate) fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

fn rounded(value: f64) -> String {
    with_commas(value.round() as u64)
}

/// 10,000,000 rather than 10000000.
pub(crate) fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.char_indices() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests;
