// Part: rollouts, which are shown beside the experiments.

CONFIG.experiments.push(...CONFIG.rollouts);
