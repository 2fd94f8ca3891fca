/* SplitMix64 as pure functions, the same numbers as ifthen.randomness: a stream is a 64-bit key, and its
   i-th draw is the i-th output of the generator seeded with that key. */
#ifndef SPLITMIX_H
#define SPLITMIX_H

#include <stdint.h>

#define GOLDEN 0x9E3779B97F4A7C15ull
#define MIX_1 0xBF58476D1CE4E5B9ull
#define MIX_2 0x94D049BB133111EBull

static inline uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * MIX_1;
    z = (z ^ (z >> 27)) * MIX_2;
    return z ^ (z >> 31);
}

static inline double uniform(uint64_t key, uint64_t position)
{
    return (double)(mix(key + (position + 1) * GOLDEN) >> 11) * 0x1p-53;
}

static inline uint64_t fold(uint64_t key, uint64_t value)
{
    return mix(mix(key + GOLDEN) ^ mix(value * MIX_2 + GOLDEN));
}

/* The outcome 0 ... n_outcomes - 1 of one step, given cumulative probabilities. */
static inline int outcome(uint64_t key, const double *cuts, int n_outcomes, uint64_t position)
{
    double u = uniform(key, position);
    int k = 0;
    while (k < n_outcomes - 1 && u >= cuts[k])
        k++;
    return k;
}

#endif
