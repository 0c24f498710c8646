"""Routes of the dashboard, which OpenAPI leaves out."""

from typing import Final

from starlette.routing import Route

from api.dashboard.account.account_page import show_account
from api.dashboard.account.api_key_forms import confirm_revocation, create_key, revoke_key
from api.dashboard.account.audit_trail import show_audit_trail
from api.dashboard.account.member_forms import (
    add_member,
    change_member,
    confirm_removal,
    remove_member,
    show_member,
)
from api.dashboard.account.share_link_list import confirm_all, revoke_all, show_share_links
from api.dashboard.charts import answer_chart
from api.dashboard.comparison import show_comparison
from api.dashboard.drafts.draft_pages import (
    answer_plan,
    send_draft,
    send_new_draft,
    show_draft,
    show_new_draft,
)
from api.dashboard.experiment_list import confirm_deletion, copy_experiment, delete_draft, show_experiments
from api.dashboard.experiments import confirm_step, export_visitors, show_experiment, take_step
from api.dashboard.meanings import show_meanings
from api.dashboard.page_check import start_page_check
from api.dashboard.programme import show_programme
from api.dashboard.project_pages.channel_pages import (
    confirm_channel_deletion,
    create_channel,
    delete_channel,
    save_channel,
    send_channel_test,
    show_channel,
    show_channels,
    show_new_channel,
)
from api.dashboard.project_pages.erasure_page import erase_person, show_erasure
from api.dashboard.project_pages.group_pages import (
    confirm_group_deletion,
    create_group,
    delete_group,
    save_group,
    show_group,
    show_groups,
    show_new_group,
)
from api.dashboard.project_pages.holdout_pages import (
    confirm_holdout_deletion,
    confirm_holdout_end,
    create_holdout,
    delete_holdout,
    end_holdout,
    save_holdout,
    show_holdout,
    show_holdout_form,
    show_holdouts,
    show_new_holdout,
)
from api.dashboard.project_pages.metric_pages import (
    confirm_metric_deletion,
    create_metric,
    delete_metric,
    save_metric,
    show_metric,
    show_metrics,
    show_new_metric,
)
from api.dashboard.project_pages.project_steps import confirm_project_step, take_project_step
from api.dashboard.project_pages.run_pages import import_file, show_runs, start_run
from api.dashboard.project_pages.settings_page import save_settings, show_settings
from api.dashboard.project_pages.webhook_pages import (
    confirm_rotation,
    confirm_webhook_deletion,
    create_webhook,
    delete_webhook,
    rotate_secret,
    save_webhook,
    send_test,
    show_new_webhook,
    show_webhook,
    show_webhooks,
)
from api.dashboard.project_setup import (
    answer_state,
    change_consent,
    create_project,
    show_installation,
    show_new_project,
)
from api.dashboard.projects import show_projects
from api.dashboard.reference import show_reference
from api.dashboard.review_page import answer_review, show_reviews
from api.dashboard.sharing.link_forms import create_link, revoke_link, show_links
from api.dashboard.sharing.shared_page import show_shared_results
from api.dashboard.shipping import confirm_rollout_end, end_rollout, send_decision, show_decision
from api.dashboard.sign_in import show_sign_in, sign_in, sign_in_by_link, sign_out
from api.dashboard.starting import send_start, show_start
from api.dashboard.static_files import answer_static
from api.dashboard.today import show_today

_PROJECT: Final = "/projects/{project_id}"
_WEBHOOK: Final = _PROJECT + "/webhooks/{item_id}"
_CHANNELS: Final = _PROJECT + "/notification_channels"
_CHANNEL: Final = _CHANNELS + "/{item_id}"
_HOLDOUT: Final = _PROJECT + "/holdouts/{item_id}"
_EXPERIMENT: Final = _PROJECT + "/experiments/{experiment_id}"

ROUTES: Final = (
    Route("/", show_today),
    Route("/projects", show_projects),
    Route("/sign-in", show_sign_in),
    Route("/sign-in", sign_in, methods=["POST"]),
    Route("/sign-in/{secret}", sign_in_by_link),
    Route("/sign-out", sign_out, methods=["POST"]),
    Route("/account", show_account),
    Route("/account/audit", show_audit_trail),
    Route("/account/share_links", show_share_links),
    Route("/account/share_links/revoke", confirm_all),
    Route("/account/share_links/revoke", revoke_all, methods=["POST"]),
    Route("/account/members", add_member, methods=["POST"]),
    Route("/account/members/{member_id}", show_member),
    Route("/account/members/{member_id}", change_member, methods=["POST"]),
    Route("/account/members/{member_id}/remove", confirm_removal),
    Route("/account/members/{member_id}/remove", remove_member, methods=["POST"]),
    Route("/account/keys", create_key, methods=["POST"]),
    Route("/account/keys/{key_id}/revoke", confirm_revocation),
    Route("/account/keys/{key_id}/revoke", revoke_key, methods=["POST"]),
    Route("/projects/new", show_new_project),
    Route("/projects/new", create_project, methods=["POST"]),
    Route("/projects/{project_id}", show_experiments),
    Route("/projects/{project_id}/installation", show_installation),
    Route("/projects/{project_id}/installation/consent", change_consent, methods=["POST"]),
    Route("/projects/{project_id}/installation/check", start_page_check, methods=["POST"]),
    Route("/projects/{project_id}/installation/state.json", answer_state),
    Route("/projects/{project_id}/programme", show_programme),
    Route(_PROJECT + "/settings", show_settings),
    Route(_PROJECT + "/settings", save_settings, methods=["POST"]),
    Route(_PROJECT + "/settings/{step}", confirm_project_step),
    Route(_PROJECT + "/settings/{step}", take_project_step, methods=["POST"]),
    Route(_PROJECT + "/runs", show_runs),
    Route(_PROJECT + "/runs", start_run, methods=["POST"]),
    Route(_PROJECT + "/runs/file", import_file, methods=["POST"]),
    Route(_PROJECT + "/erasure", show_erasure),
    Route(_PROJECT + "/erasure", erase_person, methods=["POST"]),
    Route(_PROJECT + "/webhooks", show_webhooks),
    Route(_PROJECT + "/webhooks/new", show_new_webhook),
    Route(_PROJECT + "/webhooks/new", create_webhook, methods=["POST"]),
    Route(_WEBHOOK, show_webhook),
    Route(_WEBHOOK, save_webhook, methods=["POST"]),
    Route(_WEBHOOK + "/test", send_test, methods=["POST"]),
    Route(_WEBHOOK + "/rotate", confirm_rotation),
    Route(_WEBHOOK + "/rotate", rotate_secret, methods=["POST"]),
    Route(_WEBHOOK + "/delete", confirm_webhook_deletion),
    Route(_WEBHOOK + "/delete", delete_webhook, methods=["POST"]),
    Route(_CHANNELS, show_channels),
    Route(_CHANNELS + "/new", show_new_channel),
    Route(_CHANNELS + "/new", create_channel, methods=["POST"]),
    Route(_CHANNEL, show_channel),
    Route(_CHANNEL, save_channel, methods=["POST"]),
    Route(_CHANNEL + "/test", send_channel_test, methods=["POST"]),
    Route(_CHANNEL + "/delete", confirm_channel_deletion),
    Route(_CHANNEL + "/delete", delete_channel, methods=["POST"]),
    Route(_PROJECT + "/metrics", show_metrics),
    Route(_PROJECT + "/metrics/new", show_new_metric),
    Route(_PROJECT + "/metrics/new", create_metric, methods=["POST"]),
    Route(_PROJECT + "/metrics/{item_id}", show_metric),
    Route(_PROJECT + "/metrics/{item_id}", save_metric, methods=["POST"]),
    Route(_PROJECT + "/metrics/{item_id}/delete", confirm_metric_deletion),
    Route(_PROJECT + "/metrics/{item_id}/delete", delete_metric, methods=["POST"]),
    Route(_PROJECT + "/groups", show_groups),
    Route(_PROJECT + "/groups/new", show_new_group),
    Route(_PROJECT + "/groups/new", create_group, methods=["POST"]),
    Route(_PROJECT + "/groups/{item_id}", show_group),
    Route(_PROJECT + "/groups/{item_id}", save_group, methods=["POST"]),
    Route(_PROJECT + "/groups/{item_id}/delete", confirm_group_deletion),
    Route(_PROJECT + "/groups/{item_id}/delete", delete_group, methods=["POST"]),
    Route(_PROJECT + "/holdouts", show_holdouts),
    Route(_PROJECT + "/holdouts/new", show_new_holdout),
    Route(_PROJECT + "/holdouts/new", create_holdout, methods=["POST"]),
    Route(_HOLDOUT, show_holdout),
    Route(_HOLDOUT + "/edit", show_holdout_form),
    Route(_HOLDOUT + "/edit", save_holdout, methods=["POST"]),
    Route(_HOLDOUT + "/end", confirm_holdout_end),
    Route(_HOLDOUT + "/end", end_holdout, methods=["POST"]),
    Route(_HOLDOUT + "/delete", confirm_holdout_deletion),
    Route(_HOLDOUT + "/delete", delete_holdout, methods=["POST"]),
    Route(_PROJECT + "/compare", show_comparison),
    Route("/projects/{project_id}/experiments/new", show_new_draft),
    Route("/projects/{project_id}/experiments/new", send_new_draft, methods=["POST"]),
    Route("/projects/{project_id}/experiments/plan", answer_plan, methods=["POST"]),
    Route(_EXPERIMENT, show_experiment),
    Route(_EXPERIMENT + "/edit", show_draft),
    Route(_EXPERIMENT + "/edit", send_draft, methods=["POST"]),
    Route(_EXPERIMENT + "/charts/{chart}/{theme}.{form}", answer_chart),
    Route(_EXPERIMENT + "/export", export_visitors),
    Route(_EXPERIMENT + "/copy", copy_experiment, methods=["POST"]),
    Route(_EXPERIMENT + "/delete", confirm_deletion),
    Route(_EXPERIMENT + "/delete", delete_draft, methods=["POST"]),
    Route(_EXPERIMENT + "/ship", show_decision),
    Route(_EXPERIMENT + "/ship", send_decision, methods=["POST"]),
    Route(_EXPERIMENT + "/rollout/end", confirm_rollout_end),
    Route(_EXPERIMENT + "/rollout/end", end_rollout, methods=["POST"]),
    Route(_EXPERIMENT + "/review", show_reviews),
    Route(_EXPERIMENT + "/review", answer_review, methods=["POST"]),
    Route(_EXPERIMENT + "/start", show_start),
    Route(_EXPERIMENT + "/start", send_start, methods=["POST"]),
    Route(_EXPERIMENT + "/share", show_links),
    Route(_EXPERIMENT + "/share", create_link, methods=["POST"]),
    Route(_EXPERIMENT + "/share/{link_id}/revoke", revoke_link, methods=["POST"]),
    Route(_EXPERIMENT + "/{step}", confirm_step),
    Route(_EXPERIMENT + "/{step}", take_step, methods=["POST"]),
    Route("/shared/{token}", show_shared_results),
    Route("/docs", show_reference),
    Route("/verdicts", show_meanings),
    Route("/static/{digest}/{name}", answer_static),
)
