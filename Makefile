# `make test` needs Go and a C compiler. Tests on PostgreSQL look for it on the
# machine, and say how to get it when they skip.

GOLANGCI_LINT = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

TEST_FLAGS = -timeout=20m
SHORT      = -short
FUZZ_TIME  = 10s
BENCH_TIME = 1s

.PHONY: test full lint examples pure fuzz bench bench-table

test:
	go test -race -short -shuffle=on -count=1 $(TEST_FLAGS) ./...

# Every test with its full counts: a quarter of an hour and more on two cores.
full:
	go test -race -shuffle=on -count=1 -timeout=60m ./...

# Here and in every module below; gofmt sees all of them at once.
lint:
	@unformatted=$$(gofmt -l .); \
	if [ -n "$$unformatted" ]; then echo "not formatted by gofmt:"; echo "$$unformatted"; exit 1; fi
	@find . -name go.mod | sort | while read -r file; do \
		echo "$$(dirname "$$file")"; \
		(cd "$$(dirname "$$file")" && go vet ./... && go run $(GOLANGCI_LINT) run) || exit 1; \
	done

# The second replay of the same input into the same file finds everything stored.
examples:
	go run ./examples/quickstart
	go run ./examples/groupchat
	go run ./examples/transaction
	@set -e; dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; set -x; \
	go run ./examples/replay -db "$$dir/replay.db"; \
	go run ./examples/replay -db "$$dir/replay.db"

# Without cgo the tests run on the SQLite driver that is written in Go, which is
# too slow under the race detector. SHORT= takes the full counts.
pure:
	CGO_ENABLED=0 go test $(SHORT) -shuffle=on -count=1 $(TEST_FLAGS) ./session/...

# One after the other: go test fuzzes one target at a time.
fuzz:
	@grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | while IFS=: read -r file target; do \
		target=$${target#func }; echo "$$target in $$file"; \
		go -C "$$(dirname "$$file")" test -run='^$$' -fuzz="^$$target\$$" -fuzztime=$(FUZZ_TIME) . || exit 1; \
	done

bench:
	go test -run='^$$' -bench=. -benchmem -benchtime=$(BENCH_TIME) ./...

# Hansard beside ADK-Go and a floor written by hand, as one table: 20 minutes.
# BENCH_FLAGS=-quick sees that it works; see bench/README.md.
bench-table:
	go -C bench run . $(BENCH_FLAGS)
