package main

// goal is a ratio, or a figure of its own, that has to be reached. No goal fails
// the program: how fast a machine is decides nothing.
type goal struct {
	ID      string  `json:"id"`
	Of      point   `json:"of"`
	To      point   `json:"to"` // what it is compared with; empty for a figure of its own
	AtLeast bool    `json:"at_least"`
	Must    float64 `json:"must"`
	Aim     float64 `json:"aim"`
	Value   float64 `json:"value"`
	Verdict string  `json:"verdict"`
}

// point names a series.
type point struct {
	Workload  string `json:"workload"`
	Contender string `json:"contender"`
}

// The verdicts on a goal.
const (
	reachedAim  = "aim"
	reachedMust = "must"
	missed      = "missed"
	unmeasured  = "not measured"
)

// goals are in the order in which they are told; those of PostgreSQL that do not
// name a path are goals of each.
func goals(c config) []goal {
	short, long := sizeName(c.short), sizeName(c.long)
	all := []goal{ratio("P1", alone, "direct", adkName).atMost(0.55, 0.45)}
	for scopes, label := range scopeNames {
		all = append(all,
			figure("P2", trips, at("direct", label)).atMost(1+float64(scopes), 1),
			figure("P2", trips, at("portable", label)).atMost(4+float64(scopes), 4+float64(scopes)))
	}
	all = append(all,
		figure("P3", allocated, "direct").atMost(150, 110),
		ratio("P4", alone, "portable", adkName).atMost(0.80, 0.70))
	each := func(of func(path string) goal) {
		for _, p := range paths {
			all = append(all, of(p.name))
		}
	}
	each(func(p string) goal { return ratio("P5", apart(16), p, adkName).atLeast(1.7, 2.1) })
	each(func(p string) goal { return ratio("P5", apart(64), p, adkName).atLeast(1.7, 2.1) })
	each(func(p string) goal { return ratio("P6", together(16), p, adkName).atLeast(5, 7) })
	each(func(p string) goal { return ratio("P6", together(64), p, adkName).atLeast(10, 14) })
	each(func(p string) goal { return ratio("P7", userKeys, p, adkName).atLeast(4, 5) })
	each(func(p string) goal { return ratio("P8", recent, at(p, long), at(p, short)).atMost(1.2, 1.2) })
	each(func(p string) goal { return ratio("P8", recent, at(p, long), at(adkName, short)).atMost(0.4, 0.3) })
	each(func(p string) goal { return ratio("P9", growing, at(p, long), at(p, short)).atMost(1.2, 1.2) })
	each(func(p string) goal { return ratio("P10", whole, p, adkName).atMost(0.6, 0.5) })
	each(func(p string) goal { return ratio("P11", listed, at(p, allPages), adkName).atMost(0.8, 0.6) })
	each(func(p string) goal { return ratio("P11", listed, at(p, onePage), adkName).atMost(0.01, 0.01) })
	each(func(p string) goal {
		return ratio("P11", listed, at(at(p, allPages), withState), adkName).atMost(0.8, 0.6)
	})
	each(func(p string) goal {
		return ratio("P11", listed, at(at(p, onePage), withState), adkName).atMost(0.01, 0.01)
	})
	all = append(all,
		ratio("S1", sqliteAlone, oursName, adkName).atMost(0.75, 0.60),
		ratio("S3", sqliteApart(16), oursName, adkName).atLeast(3.5, 4),
		ratio("S3", sqliteApart(64), oursName, adkName).atLeast(3.5, 4),
		ratio("S4", sqliteTogether(16), oursName, adkName).atLeast(10, 15),
		ratio("S4", sqliteTogether(64), oursName, adkName).atLeast(18, 25),
		ratio("M1", memoryApart(1), oursName, adkName).atLeast(1.0, 1.0),
		ratio("M1", memoryApart(4), oursName, adkName).atLeast(1.8, 1.8),
		ratio("M1", memoryApart(16), oursName, adkName).atLeast(2.5, 2.5),
		figure("M2", memoryBytes, oursName).atMost(600, 400))
	each(func(p string) goal {
		return ratio("A1", besideState, at(p, largeState), at(p, noState)).atMost(1.2, 1.0)
	})
	return append(all, ratio("A1", sqliteBeside, at(oursName, largeState), at(oursName, noState)).atMost(1.2, 1.0))
}

func ratio(id, workload, of, to string) goal {
	return goal{ID: id, Of: point{workload, of}, To: point{workload, to}}
}

func figure(id, workload, of string) goal { return goal{ID: id, Of: point{workload, of}} }

func (g goal) atMost(must, aim float64) goal {
	g.Must, g.Aim = must, aim
	return g
}

func (g goal) atLeast(must, aim float64) goal {
	g.AtLeast = true
	return g.atMost(must, aim)
}

// judge fills in what was measured.
func (g *goal) judge(medians map[point]float64) {
	value, measured := medians[g.Of]
	if g.To != (point{}) {
		to, ok := medians[g.To]
		measured = measured && ok && to > 0
		value /= to
	}
	switch {
	case !measured:
		g.Verdict = unmeasured
		return
	case g.reached(value, g.Aim):
		g.Verdict = reachedAim
	case g.reached(value, g.Must):
		g.Verdict = reachedMust
	default:
		g.Verdict = missed
	}
	g.Value = value
}

func (g *goal) reached(value, bound float64) bool {
	if g.AtLeast {
		return value >= bound
	}
	return value <= bound
}
