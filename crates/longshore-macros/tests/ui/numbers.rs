//! Numbers outside their range, and too many tags.

use longshore::Job;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", priority = 10, max_attempts = 0)]
struct Range;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", priority = -1, max_attempts = 99999999999999999999999)]
struct FarOff;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", priority = 2u8, tags = ["a", "a"])]
struct Suffix;

#[derive(Serialize, Deserialize, Job)]
#[job(
    kind = "k",
    tags = [
        "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16",
        "17", "18", "19", "20", "21", "22", "23", "24", "25", "26", "27", "28", "29", "30", "31",
        "32", "33", "34", "35", "36", "37", "38", "39", "40", "41", "42", "43", "44", "45", "46",
        "47", "48", "49", "50", "51", "52", "53", "54", "55", "56", "57", "58", "59", "60", "61",
        "62", "63", "64",
    ],
)]
struct Tags;

fn main() {}
