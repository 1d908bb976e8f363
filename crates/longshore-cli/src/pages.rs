//! The pages that show Rust, each as the words of a type, so that their blocks are compiled with the
//! examples in the docs, and those that can are run. From here, for some need both libraries.

/// Names a type for each page.
macro_rules! pages {
    ($($name:ident: $page:literal,)*) => {
        $(#[doc = include_str!(concat!("../../../", $page))]
        struct $name;)*
    };
}

pages! {
    Readme: "README.md",
    ComingFrom: "docs/guide/coming-from.md",
    HttpApi: "docs/guide/http-api.md",
    FirstJob: "docs/guide/first-job.md",
    Lists: "docs/guide/lists.md",
    Operations: "docs/guide/operations.md",
    ManyJobs: "docs/guide/many-jobs.md",
    Queues: "docs/guide/queues.md",
    RetriesAndErrors: "docs/guide/retries-and-errors.md",
    Tracing: "docs/guide/tracing.md",
    UniqueJobs: "docs/guide/unique-jobs.md",
    Versions: "docs/guide/versions.md",
}
