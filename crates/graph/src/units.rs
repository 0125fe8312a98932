//! Units of measurement, which are neither names nor concepts: "Nm" in "45 Nm", "kPa", "MB".

/// As they are written: "MB" is a unit, "mb" is not.
#[rustfmt::skip]
const UNITS: [&str; 117] = [
    "A", "Ah", "Bq", "C", "F", "GB", "GHz", "GJ", "GPa", "GW", "GWh", "Gb", "Gbit", "Gbps", "GiB", "Gy", "Hz", "J",
    "K", "KB", "KHz", "Kbps", "KiB", "L", "MB", "MHz", "MJ", "MPa", "MV", "MVA", "MW", "MWh", "Mb", "Mbit", "Mbps",
    "MiB", "N", "Nm", "PB", "PSI", "Pa", "PiB", "RPM", "Sv", "TB", "THz", "TWh", "TiB", "V", "VA", "W", "Wh", "bar",
    "bit", "bits", "bps", "cm", "dB", "dBA", "dBi", "dBm", "deg", "dpi", "fps", "ft", "g", "h", "hPa", "hrs", "kA",
    "kB", "kHz", "kJ", "kN", "kNm", "kPa", "kV", "kVA", "kW", "kWh", "kbit", "kbps", "kcal", "keV", "kg", "km", "kph",
    "l", "lb", "lbs", "m", "mA", "mAh", "mH", "mL", "mPa", "mV", "mW", "mbar", "mg", "min", "ml", "mm", "mmHg", "mol",
    "mph", "ms", "nF", "ns", "oz", "pF", "ppm", "psi", "px", "rpm", "s", "µs",
];

/// Returns whether a word is a unit wherever it stands. One letter is a unit only after a number.
pub fn is_unit(word: &str) -> bool {
    word.chars().count() > 1 && UNITS.contains(&word)
}

/// Returns whether a word after a number is its unit.
pub fn is_unit_of_number(word: &str) -> bool {
    UNITS.contains(&word)
}

/// Returns whether a word is a number with its unit: "45Nm", "3.5kPa", "10-20MB".
pub fn is_measure(word: &str) -> bool {
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '-'));
    unit.len() < word.len() && word.starts_with(|c: char| c.is_ascii_digit()) && UNITS.contains(&unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_told_from_words_by_their_capitals() {
        assert!(["Nm", "kPa", "MB", "ms", "mmHg"].iter().all(|unit| is_unit(unit)));
        assert!(!["NM", "kpa", "A", "Ms", "pump"].iter().any(|word| is_unit(word)));
        assert!(is_unit_of_number("A") && is_measure("45Nm") && is_measure("3.5kPa"));
        assert!(!is_measure("P-204") && !is_measure("3D") && !is_measure("Nm") && !is_measure("45"));
    }

    #[test]
    fn the_list_is_sorted_and_has_no_unit_twice() {
        assert!(UNITS.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
