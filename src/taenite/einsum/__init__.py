"""einsum: parsing, paths, plans."""

from taenite.einsum.call import contract_into as contract_into
from taenite.einsum.call import einsum as einsum
from taenite.einsum.call import einsum_path as einsum_path
from taenite.einsum.call import einsum_plan as einsum_plan
from taenite.einsum.plan import Plan as Plan
