package database

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var (
	errTemporary = errors.New("temporary")
	errPermanent = errors.New("permanent")
)

func isTemporary(err error) bool { return errors.Is(err, errTemporary) }

func TestRetryEnds(t *testing.T) {
	tests := []struct {
		name     string
		attempts int
		results  []error // of the tries; the last one stands for all that follow
		want     error
		tries    int
	}{
		{"success", 10, []error{nil}, nil, 1},
		{"success at last", 3, []error{errTemporary, errTemporary, nil}, nil, 3},
		{"tried often enough", 3, []error{errTemporary}, errTemporary, 3},
		{"retries are off", 1, []error{errTemporary}, errTemporary, 1},
		{"not retryable", 10, []error{errPermanent}, errPermanent, 1},
		{"not retryable any more", 10, []error{errTemporary, errPermanent}, errPermanent, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				err := retryPolicy{tt.attempts, time.Millisecond}.do(t.Context(), isTemporary, func() error {
					tries++
					return tt.results[min(tries, len(tt.results))-1]
				})
				if !errors.Is(err, tt.want) || tries != tt.tries {
					t.Errorf("error %v after %d tries, want %v after %d", err, tries, tt.want, tt.tries)
				}
			})
		})
	}
}

// TestRetryPauses: the pause doubles up to MaxBackoff, and jitter takes up to a
// half of it.
func TestRetryPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const backoff = 10 * time.Millisecond
		shortened := false
		for range 50 {
			last := time.Now()
			pause := time.Duration(0)
			_ = retryPolicy{10, backoff}.do(t.Context(), isTemporary, func() error { // its error is tested above
				got := time.Since(last)
				last = time.Now()
				if got > pause || got < pause/2 {
					t.Errorf("pause of %v, want %v to %v", got, pause/2, pause)
				}
				shortened = shortened || got < pause
				pause = min(max(2*pause, backoff), MaxBackoff)
				return errTemporary
			})
			if pause != MaxBackoff {
				t.Errorf("the pause grew to %v, want %v", pause, MaxBackoff)
			}
		}
		if !shortened {
			t.Error("no pause was shortened at random")
		}
	})
}

// TestRetryWithoutPause: a backoff of 0 tries again at once.
func TestRetryWithoutPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, tries := time.Now(), 0
		err := retryPolicy{4, 0}.do(t.Context(), isTemporary, func() error { tries++; return errTemporary })
		if !errors.Is(err, errTemporary) || tries != 4 || time.Since(start) != 0 {
			t.Errorf("error %v after %d tries and %v, want %v after 4 and no time", err, tries, time.Since(start), errTemporary)
		}
	})
}

// TestRetryContext: the context's end cuts a pause short, and there is no try
// after it.
func TestRetryContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		start, tries := time.Now(), 0
		err := retryPolicy{1000, MaxBackoff}.do(ctx, isTemporary, func() error { tries++; return errTemporary })
		if !errors.Is(err, errTemporary) || tries != 1 || time.Since(start) != 30*time.Millisecond {
			t.Errorf("error %v after %d tries and %v, want %v after 1 and 30ms", err, tries, time.Since(start), errTemporary)
		}

		// It has ended before the pause: no pause at all.
		start, tries = time.Now(), 0
		err = retryPolicy{1000, MaxBackoff}.do(ctx, isTemporary, func() error { tries++; return errTemporary })
		if !errors.Is(err, errTemporary) || tries != 1 || time.Since(start) != 0 {
			t.Errorf("error %v after %d tries and %v, want %v after 1 and no time", err, tries, time.Since(start), errTemporary)
		}
	})
}
