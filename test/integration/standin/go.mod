module etcdop.test/standin

go 1.26
