//! The results as tables and as JSON.

use pathwalk_output::{grouped, number, rounded, table};
use pathwalk_study::cache::Outcome;
use pathwalk_study::study::{Saved, Study};
use serde_json::{Map, Value, json};

use crate::storm::Kept;

/// Returns the table of a study: policies by sizes.
pub(super) fn text(study: &Study, note: Option<&str>) -> String {
    let percents = study.sizes.iter().map(|size| format!("{} %", size.percent()));
    let header: Vec<_> = [study.name.clone()].into_iter().chain(percents).chain(["looks".into(), "what it is".into()]).collect();
    let header: Vec<_> = header.iter().map(String::as_str).collect();
    let mut table = table(&header, &[header.len() - 1]);
    for row in &study.rows {
        let hits = row.outcomes.iter().map(|outcome| format!("{:.2}", outcome.all().percent()));
        let looks = row.outcomes.iter().map(|outcome| outcome.looks_per_eviction()).fold(0.0, f64::max);
        let name = row.entrant.name.to_owned();
        table.add_row([name].into_iter().chain(hits).chain([number(looks), row.entrant.about.into()]));
    }
    let bound = study.bound.iter().map(|outcome| format!("{:.2}", outcome.all().percent()));
    table.add_row(["bound".to_owned()].into_iter().chain(bound).chain([String::new(), "no policy can exceed it".into()]));
    let (walks, entries, absent) = (study.walks as i64, study.entries as i64, study.absent as i64);
    let note = note.map(|note| format!("Note: {note}.\n")).unwrap_or_default();
    format!(
        "{}: hits in percent of {} walks to {} names, {} of them absent\n{table}\n{note}\n",
        study.name,
        grouped(walks),
        grouped(entries),
        grouped(absent)
    )
}

/// Returns the table of the savings of policies, compared with the policy `base`.
pub(super) fn saved_text(saved: &[Saved], base: &str) -> String {
    let mut table = table(&["saved, %", "misses", "where worst", "questions"], &[]);
    for saved in saved {
        let percents = [saved.misses, saved.worst, saved.questions].map(|percent| format!("{percent:+.2}"));
        table.add_row([saved.name.to_owned()].into_iter().chain(percents));
    }
    format!("all: misses, and questions to the file system, that are saved beside {base}; means over files and sizes\n{table}\n")
}

/// Returns a study as JSON.
pub(super) fn json(study: &Study, note: Option<&str>) -> Value {
    let sizes: Vec<_> =
        study.sizes.iter().map(|size| json!({ "percent": size.percent(), "slots": size.slots(study.entries) })).collect();
    let outcome = |outcome: &Outcome| {
        json!({
            "hit_percent": rounded(outcome.all().percent()),
            "present_hit_percent": rounded(outcome.present.percent()),
            "absent_hit_percent": rounded(outcome.absent.percent()),
            "questions": outcome.questions,
            "evictions": outcome.evictions,
            "looks_per_eviction": rounded(outcome.looks_per_eviction()),
            "refused": outcome.refused,
        })
    };
    let rows = study.rows.iter().map(|row| {
        json!({ "policy": row.entrant.name, "about": row.entrant.about, "outcomes": row.outcomes.iter().map(outcome).collect::<Vec<_>>() })
    });
    let mut value = json!({
        "name": study.name,
        "walks": study.walks,
        "names": study.entries,
        "absent_names": study.absent,
        "sizes": sizes,
        "policies": rows.collect::<Vec<_>>(),
        "bound_hit_percent": study.bound.iter().map(|outcome| rounded(outcome.all().percent())).collect::<Vec<_>>(),
    });
    if let Some(note) = note {
        value["note"] = note.into();
    }
    value
}

/// Returns the table of storms: policies by weather and slots.
pub(super) fn storm_text(names: usize, hot: usize, all: &[Kept]) -> String {
    let columns = all.iter().map(|kept| format!("{}, {}", kept.weather.name(), grouped(kept.slots as i64)));
    let header: Vec<_> = ["kept".to_owned()].into_iter().chain(columns).collect();
    let mut table = table(&header.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
    for (row, (name, _)) in all[0].of.iter().enumerate() {
        let percents = all.iter().map(|kept| format!("{:.2}", kept.of[row].1));
        table.add_row([(*name).to_owned()].into_iter().chain(percents));
    }
    format!(
        "storm: hits of {} hot files in percent of those that are possible, against {} absent names, by the number of slots\n{table}\n\
         known: the hot files were looked up before; new: they come up during the storm; twice: known, and each name is asked for twice\n",
        grouped(hot as i64),
        grouped(names as i64)
    )
}

/// Returns the storms as JSON.
pub(super) fn storm_json(names: usize, hot: usize, all: &[Kept]) -> Value {
    let one = |kept: &Kept| {
        let of: Map<_, _> = kept.of.iter().map(|(name, percent)| ((*name).into(), rounded(*percent).into())).collect();
        json!({ "names": names, "hot": hot, "hot_set": kept.weather.name(), "slots": kept.slots, "kept_percent": of })
    };
    all.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use pathwalk_study::ENTRANTS;
    use pathwalk_study::generated::Weather;
    use pathwalk_study::study::SIZES;
    use pathwalk_study::trace::{Builder, Found};

    use super::*;

    #[test]
    fn a_study_is_told_with_all_its_policies() {
        let mut builder = Builder::default();
        for i in 0..100 {
            builder.walk(format!("/{}", i % 7).as_bytes(), Found::Present);
        }
        let study = Study::run("loop", &builder.finish(), ENTRANTS, &SIZES, &mut |_| ());
        let (text, json) = (text(&study, Some("so")), json(&study, None));
        assert!(text.contains("100 walks to 7 names") && text.contains("Note: so."), "{text}");
        for entrant in ENTRANTS {
            assert!(text.contains(entrant.name) && text.contains(entrant.about), "{text}");
        }
        assert_eq!(json["policies"].as_array().map(Vec::len), Some(ENTRANTS.len()));
        assert_eq!(json["policies"][0]["outcomes"][0]["hit_percent"], 0.0);
    }

    #[test]
    fn storms_are_told_by_weather_and_slots() {
        let all = [Kept { weather: Weather::Twice, slots: 11_000, of: vec![("lru", 12.345), ("bound", 100.0)] }];
        let text = storm_text(1000, 10, &all);
        assert!(text.contains("twice, 11,000") && text.contains("12.35") || text.contains("12.34"), "{text}");
        assert_eq!(storm_json(1000, 10, &all)[0]["kept_percent"]["bound"], 100.0);
    }
}
