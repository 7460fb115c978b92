//! A plot of studies. Each study has a panel with the hit ratio over the size of the cache: a line
//! for each policy, and one for the bound.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::study::{Row, Study};

/// The width and height of a panel, in pixels.
const PANEL: (u32, u32) = (440, 320);
/// The number of panels side by side.
const COLUMNS: usize = 2;
/// The height of the legend, in pixels.
const LEGEND: u32 = 40;

/// Colours that most people can distinguish. Source: Okabe and Ito, "Color Universal Design", 2008.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(120, 110, 0),
];

/// Errors of [`svg`].
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// A failure while drawing.
    #[error("drawing the plot: {0}")]
    Draw(String),
    /// An input without any study, or with a study without sizes.
    #[error("there is nothing to plot: no study, or no size")]
    Nothing,
}

/// Returns the plot as the text of an SVG file. All studies must have the same policies: the legend
/// is made from the first.
///
/// # Errors
///
/// Returns [`PlotError::Nothing`] if there is no study, or one without a size, and
/// [`PlotError::Draw`] if drawing fails.
pub fn svg(studies: &[Study]) -> Result<String, PlotError> {
    if studies.is_empty() || studies.iter().any(|study| study.sizes.is_empty()) {
        return Err(PlotError::Nothing);
    }
    let columns = studies.len().min(COLUMNS);
    let lines = studies.len().div_ceil(columns);
    let (width, height) = (PANEL.0 * columns as u32, PANEL.1 * lines as u32 + LEGEND);
    let mut text = String::new();
    draw(studies, (lines, columns), &SVGBackend::with_string(&mut text, (width, height)).into_drawing_area())
        .map_err(|error| PlotError::Draw(error.to_string()))?;
    Ok(text)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

fn draw(studies: &[Study], grid: (usize, usize), area: &Area<'_>) -> Drawn {
    area.fill(&WHITE)?;
    let (top, rest) = area.split_vertically(LEGEND);
    legend(&studies[0].rows, &top)?;
    for (study, panel) in studies.iter().zip(rest.split_evenly(grid)) {
        draw_panel(study, &panel)?;
    }
    area.present()?;
    Ok(())
}

fn draw_panel(study: &Study, area: &Area<'_>) -> Drawn {
    let (least, most) = ranges(study);
    let sizes = (study.sizes[0].percent(), study.sizes[study.sizes.len() - 1].percent() * 1.001);
    let caption = format!("{} ({} walks, {} entries)", study.name, study.walks, study.entries);
    let mut chart = ChartBuilder::on(area)
        .caption(caption, ("sans-serif", 15))
        .margin(8)
        .x_label_area_size(36)
        .y_label_area_size(44)
        .build_cartesian_2d((sizes.0..sizes.1).log_scale(), least..most)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("slots, % of entries")
        .y_desc("hits, % of walks")
        .x_label_formatter(&|size| format!("{size}"))
        .y_label_formatter(&|percent| format!("{percent:.0}"))
        .draw()?;
    let at = |i: usize, percent: f64| (study.sizes[i].percent(), percent);
    let bound = study.bound.iter().enumerate().map(|(i, outcome)| at(i, outcome.all().percent()));
    chart.draw_series(LineSeries::new(bound, BLACK.stroke_width(1)))?;
    for (row, colour) in study.rows.iter().zip(COLOURS.iter().cycle()) {
        let points = row.outcomes.iter().enumerate().map(|(i, outcome)| at(i, outcome.all().percent()));
        chart.draw_series(LineSeries::new(points.clone(), colour.stroke_width(2)))?;
        chart.draw_series(points.map(|point| Circle::new(point, 2, colour.filled())))?;
    }
    Ok(())
}

/// Returns the bounds of the percentage axis: the least and the greatest percentage, with a margin.
fn ranges(study: &Study) -> (f64, f64) {
    let rows = study.rows.iter().flat_map(|row| &row.outcomes);
    let percents = rows.chain(&study.bound).map(|outcome| outcome.all().percent());
    let (least, most) = percents.fold((100.0_f64, 0.0_f64), |(least, most), percent| (least.min(percent), most.max(percent)));
    ((least - 1.0).max(0.0).floor(), (most + 1.0).ceil())
}

fn legend(rows: &[Row], area: &Area<'_>) -> Drawn {
    /// The approximate width of a character of the legend, in pixels.
    const WIDTH: i32 = 7;
    let names = rows.iter().map(|row| row.entrant.name).zip(COLOURS.iter().copied().cycle());
    let mut x = 16;
    for (name, colour) in names.chain([("bound", BLACK)]) {
        area.draw(&Rectangle::new([(x, 18), (x + 18, 22)], colour.filled()))?;
        area.draw(&Text::new(name, (x + 24, 14), ("sans-serif", 13)))?;
        x += 24 + WIDTH * name.len() as i32 + 16;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::ENTRANTS;
    use super::super::study::SIZES;
    use super::super::trace::{Builder, Found};
    use super::*;

    #[test]
    fn each_study_has_a_panel() {
        let mut builder = Builder::default();
        for i in 0..500 {
            builder.walk(format!("/d/{}", i * i % 83).as_bytes(), Found::Present);
        }
        let walks = builder.finish();
        let study = |name| Study::run(name, &walks, &ENTRANTS[..3], &SIZES, &mut |_| ());
        let text = svg(&[study("one <&>"), study("two"), study("three")]).unwrap();
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
        for name in ["one &lt;&amp;&gt; (500 walks", "three (500 walks", "bound", ENTRANTS[2].name] {
            assert!(text.contains(name), "{name}");
        }
    }

    #[test]
    fn nothing_is_an_error() {
        assert!(matches!(svg(&[]), Err(PlotError::Nothing)));
        let study = Study::run("no size", &Builder::default().finish(), ENTRANTS, &[], &mut |_| ());
        assert!(matches!(svg(&[study]), Err(PlotError::Nothing)));
    }
}
