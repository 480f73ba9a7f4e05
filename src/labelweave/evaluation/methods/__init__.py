"""Methods by name, as on the command line: "pcc(C=1.0), mc".

`registry` knows them, `specifications` reads their options, among them `calibrate_option`;
`decisions` reads the losses they decide for, `preprocessing` scales their features, and
`classifier_checks` looks at estimators that are not ours. Users import from
`labelweave.evaluation`.
"""
