# SPDX-License-Identifier: Apache-2.0
"""Which transforms act on which sites, and which measures are invariant under such an action.

A site on which a transform does not act has the same activations, so every measure of it is invariant.
On the others a measure is invariant if it is invariant under the action:

  rotation      rows are multiplied by an orthogonal matrix, of each layer its own except for the stream
  permutation   dimensions are permuted, of each layer differently except for the stream
  head-scale    the dimensions of each head are multiplied by a number
  scale         each dimension is multiplied by a number
  head order    heads are numbered differently
  weight scale  the weights of a router are multiplied by numbers
  key size      the size of keys changes, with which the weights of a router may be multiplied
"""

# (transform, site): action. Others do not act.
HEAD_SITES = ("values", "routed_values", "attn.hook_z")
STREAM_SITES = ("hidden", "hook_attn_out")
ACTIONS = {
    **{("value-scale", site): "head-scale" for site in HEAD_SITES},
    **{("value-rotation", site): "rotation" for site in HEAD_SITES},
    ("query-key-scale", "keys"): "scale",
    **{("head-permutation", site): "permutation" for site in (*HEAD_SITES, "keys")},
    ("head-permutation", "attn.hook_profile"): "head order",
    ("head-permutation", "weights"): "head order",
    **{("residual-rotation", site): "rotation" for site in STREAM_SITES},
    **{("residual-permutation", site): "permutation" for site in STREAM_SITES},
    # The values that a router mixes keep their sum.
    **{("route-scale", site): "head-scale" for site in ("values", "keys")},
    # Layer 0 reads its own, scaled values.
    ("route-scale", "routed_values"): "head-scale",
    ("route-scale", "attn.hook_z"): "head-scale",
    ("route-scale", "weights"): "weight scale",
    # The size of keys, which weights the router.
    ("query-key-scale", "weights"): "key size",
}

# Measures of single dimensions, by their magnitude, or of sums of magnitudes.
BY_DIMENSION = ("massive_share", "massive_token_share", "largest_to_median", "rank_one_residual_1inf")
# Measures that compare the rows of two layers dimension by dimension.
BETWEEN_LAYERS = ("influence", "angle")


def is_orthogonally_invariant(measurement, site, quantity):
    """Spectra of Gram matrices, norms, angles and distances are; standardised dimensions are not."""
    if measurement == "geometry":
        return quantity not in BY_DIMENSION
    if measurement == "similarity":
        return quantity not in BETWEEN_LAYERS or site in STREAM_SITES
    return measurement == "entropy-raw"


def proof_of(measurement, site, quantity, transform):
    """Returns why a measurement is invariant, or an empty text if nothing proves it."""
    action = ACTIONS.get((transform, site))
    if action is None:
        return "the transform does not change what is measured"
    is_common = quantity not in BETWEEN_LAYERS or site in STREAM_SITES
    if action == "permutation" and is_common:
        return "it does not depend on the order of dimensions"
    if action == "rotation" and is_orthogonally_invariant(measurement, site, quantity):
        return "it is a function of inner products"
    if action in ("head-scale", "scale") and measurement == "entropy-lime-code":
        return "every dimension is standardised first"
    if action == "head order" and "per head" not in quantity and measurement in ("attention", "router"):
        return "it is a mean over heads"
    if action == "key size" and "(keys)" not in quantity:
        return "the transform does not change what is measured"
    if action == "weight scale" and quantity.endswith(("(keys)", "(values)")):
        return "weights are multiplied by the scale of what they read"
    return ""
