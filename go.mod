module gpujoin

go 1.26.0
