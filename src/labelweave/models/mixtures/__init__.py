"""Mixtures of structured components: P(y|x) = Σ_k λ_k(x) P_k(y|x), fitted by EM.

`tree_mixture` and `chain_mixture` are the estimators, `structured_mixture` is what they share. `em`
holds the iterations, `m_step` the refits, `mixture` the parameters, `gate` the mixing weights
λ_k(x), `label_clustering` the initial responsibilities; `mixture_learner` fits a mixture of given
size, and `component_selection` chooses the size by held-out log-likelihood. Users import from
`labelweave.models`.
"""
