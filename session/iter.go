package session

import (
	"context"
	"iter"
)

// AllEvents returns the events that req selects, reading pages of req.Limit.
// No cursor or connection is held between pages, so the loop body may call svc.
//
// The first page fixes the UID and the epoch: if the session is recreated or
// its log replaced meanwhile, the iteration ends with the error of
// [Log.ListEvents]. Events appended meanwhile are included when ascending. The
// first error ends the iteration.
func AllEvents(ctx context.Context, svc Log, req ListEventsRequest) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		req := req // a sequence may be ranged over twice
		for {
			resp, err := svc.ListEvents(ctx, &req)
			if err != nil {
				yield(nil, err)
				return
			}
			req.UID, req.Epoch = resp.UID, resp.Epoch
			for _, event := range resp.Events {
				if !yield(event, nil) {
					return
				}
				if req.Descending {
					req.BeforeSeq = event.Seq
				} else {
					req.AfterSeq = event.Seq
				}
			}
			if !resp.More {
				return
			}
		}
	}
}

// AllSessions returns the sessions that req selects, reading pages of
// req.PageSize. No cursor or connection is held between pages. The first error
// ends the iteration.
func AllSessions(ctx context.Context, svc Sessions, req ListRequest) iter.Seq2[*Session, error] {
	return func(yield func(*Session, error) bool) {
		req := req // a sequence may be ranged over twice
		for {
			resp, err := svc.List(ctx, &req)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, s := range resp.Sessions {
				if !yield(s, nil) {
					return
				}
			}
			if resp.NextPageToken == "" {
				return
			}
			req.PageToken = resp.NextPageToken
		}
	}
}
