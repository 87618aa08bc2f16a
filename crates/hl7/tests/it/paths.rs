//! Paths: what is one, and what is nearly one.

use bobbin_hl7::{Patch, Path, PathError};
use rstest::rstest;

use crate::support::patched;

#[rstest]
#[case("PID", "PID")]
#[case("pid.5", "PID.5")]
#[case("Z01[3].9999[12].2.1", "Z01[3].9999[12].2.1")]
#[case("PID-5.1", "PID.5.1")]
#[case("PID[2]-5", "PID[2].5")]
#[case("PID[1].5[1]", "PID.5[1]")]
fn a_path_names_a_place(#[case] text: &str, #[case] same: &str) {
    assert_eq!(text.parse::<Path>().unwrap().to_string(), same);
}

#[rstest]
#[case("PID.", PathError::Index)]
#[case("PID.0", PathError::Index)]
#[case("PID.5.", PathError::Index)]
#[case("OBX[0].1", PathError::Index)]
#[case("PI.1", PathError::Segment)]
#[case("", PathError::Segment)]
#[case("   ", PathError::Segment)]
#[case("PID.123456789012345678901234567890", PathError::Index)]
#[case("PID[*].5", PathError::Index)]
#[case("PID.05", PathError::Index)]
#[case("PID.+5", PathError::Index)]
#[case("PID.10000", PathError::Index)]
#[case("PID[1.5", PathError::Bracket)]
#[case("PID.5.1-2", PathError::Rest)]
#[case("PID.5.1.1.1", PathError::Rest)]
#[case("PID.5.1[2]", PathError::Rest)]
#[case("PID.5 ", PathError::Rest)]
#[case("PIDX.5", PathError::Rest)]
#[case("1ID.5", PathError::Segment)]
#[case("P\u{fc}.5", PathError::Segment)]
#[case("PI\u{fc}.5", PathError::Segment)]
fn behaviour_40_what_is_nearly_a_path_is_an_error(#[case] text: &str, #[case] error: PathError) {
    assert_eq!(text.parse::<Path>(), Err(error));
    let (after, report) = patched("PID|1||3||5", &[Patch::set(text, "X"), Patch::set("PID.1", "2")]);
    assert_eq!(after, "PID|2||3||5");
    assert_eq!((report.success, report.patches_applied), (false, 1));
    assert_eq!((report.errors[0].index, &*report.errors[0].path), (0, text));
}
