package mgj

import (
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar/selector"
)

// Choice is a way to execute a join, and its predicted time.
type Choice struct {
	Strategy Strategy
	Bloom    bool // a filter drops probe rows before any is sent
	MS       float64
}

const (
	// aloneMS is what the host takes of a join's time, on one GPU.
	aloneMS = 0.08
	// gain is the most that several GPUs may be predicted to take of the time of one, to be chosen.
	// It is close to 1, because a prediction may err in either direction.
	gain = 0.99
	// filterHandicap is by how much a filter has to be predicted to win. It is less than where a sample of the probe
	// rows says how many match (costmodel.FilterHandicap): here the expected result does.
	filterHandicap = 1.02
)

// models are the model's names of the strategies over several GPUs.
var models = map[Strategy]costmodel.Strategy{Exchange: costmodel.Exchange, Replicate: costmodel.Replicate}

// Choose predicts a join on one of equal GPUs, and over all of them by each strategy, with a filter and
// without, and returns the fastest. gbps is what a GPU sends to others while it receives as much.
func Choose(rates *costmodel.DeviceRates, j costmodel.Resident, devices int, gbps float64) Choice {
	return fastest(Predict(rates, j, devices, gbps))
}

// fastest returns the choice of those that Predict returns, of which the first one is on one GPU.
func fastest(list []Choice) Choice {
	best := list[0]
	least := gain * best.MS
	for _, c := range list[1:] {
		judged := c.MS
		if c.Bloom {
			judged *= filterHandicap
		}
		if judged < least {
			best, least = c, judged
		}
	}
	return best
}

// Predict predicts the join on one GPU, then over all of them by what is possible.
func Predict(rates *costmodel.DeviceRates, j costmodel.Resident, devices int, gbps float64) []Choice {
	list := []Choice{{Strategy: Alone, MS: aloneMS + selector.PredictOne(rates, j)}}
	if devices < 2 {
		return list
	}
	t, own := costmodel.Team{Devices: devices, GBps: gbps}, part(j, devices)
	for _, s := range []Strategy{Exchange, Replicate} {
		for _, bloom := range []bool{false, true} {
			if ms, ok := t.MS(rates, own, models[s], bloom); ok {
				list = append(list, Choice{s, bloom, ms})
			}
		}
	}
	return list
}

// part describes the part of a join that one of several GPUs has.
func part(j costmodel.Resident, devices int) costmodel.Resident {
	n := int64(devices)
	j.Rows, j.ResultRows = [2]int64{j.Rows[0] / n, j.Rows[1] / n}, j.ResultRows/n
	return selector.Describe(j, j.ResultRows, 0)
}
