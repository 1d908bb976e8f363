//! What a user of the built-in kinds can see, tried on real files.

mod files; // the folder and the pictures that the tests below use

mod endpoints; // summaries by a model, and what takes their place
mod escapes; // no path leads out of the files folder
mod fits; // contain, cover, fill
mod formats; // every format in and out, transparency, colour profiles
mod orientation; // photographs that lie on their side
mod fuzz; // payloads out of each kind's own schema, good and broken
mod mails; // what mail servers get, and what becomes of what they do not want
mod pools; // processes that are kept running, and those that break the rules
mod programs; // what `exec` runs and refuses
mod payload; // what a payload may say
mod refusals; // too large, damaged, not a picture
mod summaries; // what a summary says and how long it is
mod whole_files; // never half an output, never a left-over
