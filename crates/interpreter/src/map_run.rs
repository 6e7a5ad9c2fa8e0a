//! What a distributed Map hands to the world: the inputs of its child executions, and how they are to
//! be run.

use everstep_asl::model::{Kind, State};
use everstep_history::{Attempt, Failure, Payload};

use sha2::{Digest as _, Sha256};

use crate::input::Identity;

/// A Map Run, as it is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct MapRun {
    /// Its identity: a redrive continues the same one under another attempt.
    pub run: Attempt,
    /// One for each child execution.
    pub inputs: Payload,
    /// Children that run at a time; as many as the world likes if it is 0.
    pub max_concurrency: u32,
    pub tolerance: Tolerance,
    pub redrives: u32,
}

/// How many items of a Map may fail.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tolerance {
    pub count: Option<u64>,
    pub percentage: Option<f64>,
}

impl Tolerance {
    /// The lower of the two limits that are set; none may fail if neither is.
    #[must_use]
    pub fn failures(&self, items: usize) -> u64 {
        // At most the number of items.
        let by_percentage =
            self.percentage.map(|percentage| (items as f64 * percentage / 100.0).floor() as u64);
        match (self.count, by_percentage) {
            (Some(count), Some(other)) => count.min(other),
            (count, other) => count.or(other).unwrap_or(0),
        }
    }

    /// Whether so many failed items of so many are too many.
    #[must_use]
    pub fn is_exceeded(&self, failed: usize, items: usize) -> bool {
        failed as u64 > self.failures(items)
    }
}

/// What a Map fails with when too many of its items have failed.
#[must_use]
pub fn too_many_failures() -> Failure {
    Failure::new(
        "States.ExceedToleratedFailureThreshold",
        "The specified tolerated failure threshold was exceeded",
    )
}

/// What a Map Run is called: after its state, and by a UUID as the service has it. What started it can be read off that:
/// see [`starter`].
#[must_use]
pub fn arn(identity: &Identity, state: &State, run: Attempt) -> String {
    let machine = identity.machine_arn.replacen(":stateMachine:", ":mapRun:", 1);
    let name = run_name(&identity.execution_arn, run.number);
    format!("{machine}/{}:{name}", label(state))
}

/// What the children of a Map are set apart by: its `Label`, or a UUID that is always the same for the name of the state.
#[must_use]
pub fn label(state: &State) -> String {
    if let Kind::Map(map) = &state.kind
        && let Some(label) = &map.label
    {
        return label.clone();
    }
    uuid(digest(&state.name) >> (128 - BITS))
}

/// Bits of a UUID that its version and its variant leave.
const BITS: u32 = 122;
/// As many of them are for the number of a run; the others begin the digest of its execution.
const NUMBER_BITS: u32 = 26;
const DIGEST_BITS: u32 = BITS - NUMBER_BITS;
/// Bytes of the digest that the name of a run has.
pub const STARTER_BYTES: usize = DIGEST_BITS as usize / 8;

/// The first 128 bits of the SHA-256 of a text.
fn digest(text: &str) -> u128 {
    Sha256::digest(text.as_bytes()).first_chunk().map_or(0, |bytes| u128::from_be_bytes(*bytes))
}

fn run_name(execution_arn: &str, number: u32) -> String {
    let number = u128::from(number) & ((1 << NUMBER_BITS) - 1);
    uuid(digest(execution_arn) >> (128 - DIGEST_BITS) << NUMBER_BITS | number)
}

/// What a Map Run of this name was started by: the first bytes of the SHA-256 of the execution's ARN, and its number
/// there.
#[must_use]
pub fn starter(name: &str) -> Option<([u8; STARTER_BYTES], u32)> {
    let value = parse_uuid(name)?;
    let number = u32::try_from(value & ((1 << NUMBER_BITS) - 1)).ok()?;
    let digest = (value >> NUMBER_BITS << (128 - DIGEST_BITS)).to_be_bytes();
    Some((*digest.first_chunk()?, number))
}

/// Version 8: the bits are the user's own.
fn uuid(bits: u128) -> String {
    let (high, middle, low) = (bits >> 74, bits >> 62 & 0xfff, bits & ((1 << 62) - 1));
    let text = format!("{:032x}", high << 80 | 8 << 76 | middle << 64 | 2 << 62 | low);
    let parts = [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]];
    parts.join("-")
}

fn parse_uuid(text: &str) -> Option<u128> {
    let parts: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    if lengths != [8, 4, 4, 4, 12] {
        return None;
    }
    let value = u128::from_str_radix(&parts.concat(), 16).ok()?;
    let is_ours = value >> 76 & 0xf == 8 && value >> 62 & 3 == 2;
    is_ours.then_some(value >> 80 << 74 | (value >> 64 & 0xfff) << 62 | value & ((1 << 62) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(count: Option<u64>, percentage: Option<f64>, items: usize, expected: u64) {
        let tolerance = Tolerance { count, percentage };
        assert_eq!(tolerance.failures(items), expected, "{tolerance:?} of {items}");
        assert!(!tolerance.is_exceeded(usize::try_from(expected).expect("small"), items));
        assert!(tolerance.is_exceeded(usize::try_from(expected).expect("small") + 1, items));
    }

    #[test]
    fn the_name_of_a_run_says_what_started_it() {
        for number in [0, 7, (1 << NUMBER_BITS) - 1] {
            let name = run_name("arn:aws:states:r:1:execution:m:e", number);
            assert_eq!((name.len(), &name[14..15]), (36, "8"), "{name}");
            assert!("89ab".contains(&name[19..20]), "{name}");
            let digest = Sha256::digest("arn:aws:states:r:1:execution:m:e");
            let (found, of) = starter(&name).expect("it was made here");
            assert_eq!((&found[..], of), (&digest[..STARTER_BYTES], number));
        }
        for other in ["e-7", "00000000-0000-0000-0000-000000000000", "", "x-x-x-x-x"] {
            assert_eq!(starter(other), None, "{other}");
        }
    }

    #[test]
    fn the_lower_limit_counts() {
        check(None, None, 10, 0);
        check(Some(3), None, 10, 3);
        check(None, Some(25.0), 10, 2);
        check(Some(3), Some(10.0), 10, 1);
        check(Some(1), Some(100.0), 10, 1);
        check(None, Some(100.0), 10, 10);
    }
}
