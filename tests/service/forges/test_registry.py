"""Each forge is complete: its settings, its webhook, and the jobs of its CI."""

from runner.ci.registry import CI_SYSTEMS
from runner.contract.gate import ForgeKind
from service.forges.registry import FORGES


def test_each_forge_of_the_contract_has_its_package_and_its_ci() -> None:
    assert set(FORGES) == set(ForgeKind)
    assert set(ForgeKind) <= set(CI_SYSTEMS)
    for kind, forge in FORGES.items():
        assert (forge.kind, forge.webhook) == (kind, f"/{kind}/webhook")
        assert forge.settings.switch in forge.settings.model_fields
        assert forge.settings.disabled_text
        assert forge.settings.model_fields["secret"].repr is False
