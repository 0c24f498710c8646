"""The tests mirror the source: each module has a test file of its own, or a named one."""

from tests.source_tree import ROOT, modules

# Folders whose modules need no test files of their own, and why.
TESTED_TOGETHER = {
    "api/schemas/": "the tests of the routes check every field that is sent",
    "engine/measures/": "test_goals checks every key, and test_measures_store every sum and sentence",
    "engine/frames/lazy/": "test_lazy_tables compares every report with that of the same rows",
    "engine/frames/sums/": "test_sum_tables compares every report with that of the same rows",
    "engine/analysis/report/messages/": "the golden file has the sentences of every situation",
    "pipeline/requests/members.py": "tests/api/routes/test_members.py",
    "pipeline/store/catalog/migrations/": "test_migrate runs them all",
    "pipeline/verification/": "test_statement and test_warehouse_count compare both counts of it",
    "pipeline/warehouse/": "test_statement compares every sum with those of the service",
    "pipeline/distributed/steps/": "test_distributed_rollup compares their results with one machine's",
}
# Modules whose behaviour the tests of another module cover, and where.
TESTED_BY = {
    "engine/design/review.py": "tests/engine/design/test_reviewing.py",
    "pipeline/store/catalog/review_facts.py": "tests/api/routes/test_experiment_reviews.py",
    "engine/analysis/results/planned_sample.py": "tests/engine/analysis/comparison/test_sample_plan.py",
    "pipeline/erasure/event_tombstones.py": "tests/pipeline/snapshots/test_hourly_events.py",
    "api/dashboard/first_hour.py": "tests/api/dashboard/test_today.py",
    "api/cli/operation/handed_in_sums.py": "tests/api/cli/operation/test_file_rollup.py",
    "pipeline/store/source_databases/state_rows.py": "tests/pipeline/warehouse/test_state_tables.py",
    "pipeline/sources/warehouse_definition.py": "tests/pipeline/warehouse/test_warehouse_count.py",
    "pipeline/results/outside/counted_sums.py": "tests/pipeline/results/outside/test_publish_sums.py",
    "pipeline/results/outside/needed_products.py": "tests/pipeline/results/outside/test_consistency.py",
    "pipeline/results/outside/outside_observation.py": "tests/pipeline/results/outside/test_publish_sums.py",
    "pipeline/results/outside/sums_file.py": "tests/api/routes/test_experiment_sums.py",
    "pipeline/results/outside/visitor_needs.py": "tests/pipeline/results/outside/test_publish_sums.py",
    "pipeline/store/warehouse/product_sums.py": "tests/pipeline/results/outside/test_publish_sums.py",
    "pipeline/store/catalog/kept_verdicts.py": "tests/pipeline/store/catalog/test_experiment_listings.py",
    "pipeline/store/warehouse/value_counts.py": "tests/pipeline/results/test_value_distribution.py",
    "pipeline/results/largest_visitors.py": "tests/pipeline/results/test_visitor_values.py",
    "pipeline/store/warehouse/largest_visitors.py": "tests/pipeline/results/test_visitor_values.py",
    "pipeline/store/warehouse/extremes.py": "tests/pipeline/rollup/test_changed_extremes.py",
    "pipeline/store/warehouse/selected_visitors.py": "tests/pipeline/store/warehouse/test_segment_sums.py",
    "engine/analysis/comparison/pooled_visitors.py": "tests/engine/analysis/comparison/test_sample_plan.py",
    "engine/design/planning/plan_days.py": "tests/engine/design/planning/test_required_sample.py",
    "engine/analysis/results/answer_fields.py": "tests/api/schemas/test_record_answers.py",
    "pipeline/store/ownership/catalog_damage.py": "tests/resilience/test_bit_flips.py",
    "pipeline/store/ownership/content_mark.py": "tests/resilience/test_bit_flips.py",
    "pipeline/store/ownership/warehouse_salvage.py": "tests/resilience/test_bit_flips.py",
    "engine/analysis/evidence/totals.py": "tests/pipeline/results/test_known_outcomes.py",
    "engine/analysis/evidence/other_currencies.py": "tests/engine/analysis/health/test_other_currencies.py",
    "pipeline/store/warehouse/earlier_results.py": "tests/pipeline/rollup/test_earlier_sums.py",
    "pipeline/rollup/result_digest.py": "tests/pipeline/rollup/test_run.py",
    "api/resources.py": "tests/api/test_app.py",
    "api/routers.py": "tests/api/test_app.py",
    "pipeline/webhooks/sending_error.py": "tests/pipeline/webhooks/test_sending.py",
    "pipeline/rollup/turns.py": "tests/api/results/test_reads_beside_jobs.py",
    "pipeline/store/warehouse/event_reader.py": "tests/pipeline/rollup/test_run.py",
    "pipeline/store/warehouse/stored_visitors.py": "tests/pipeline/store/warehouse/test_visitors.py",
    "pipeline/rollup/selection.py": "tests/pipeline/rollup/test_run.py",
    "pipeline/rollup/whole_counts.py": "tests/pipeline/rollup/test_nightly_check.py",
    "pipeline/store/warehouse/event_digests.py": "tests/pipeline/rollup/test_nightly_check.py",
    "pipeline/store/warehouse/nightly_counts.py": "tests/pipeline/rollup/test_nightly_check.py",
    "pipeline/rollup/visitor_units.py": "tests/pipeline/results/test_unit_evidence.py",
    "pipeline/store/warehouse/unit_sums.py": "tests/pipeline/results/test_unit_evidence.py",
    "pipeline/rollup/export_selection.py": "tests/pipeline/results/test_exports.py",
    "pipeline/rollup/bucket_sums.py": "tests/pipeline/rollup/test_run_property.py",
    "pipeline/rollup/goals/bucketed_values.py": "tests/pipeline/rollup/test_run_property.py",
    "pipeline/rollup/goals/summed_goals.py": "tests/pipeline/results/test_covariates.py",
    "pipeline/store/warehouse/category_sums.py": "tests/pipeline/results/test_covariates.py",
    "pipeline/store/warehouse/order_currencies.py": "tests/pipeline/results/test_other_currencies.py",
    "api/report_files.py": "tests/api/operator/test_reports.py",
    "api/report_formats.py": "tests/api/operator/test_reports.py",
    "pipeline/results/reports_by_id.py": "tests/api/operator/test_reports.py",
    "pipeline/store/catalog/webhooks/change_messages.py": "tests/pipeline/jobs/test_ramps.py",
    "pipeline/store/catalog/project_lock.py": "tests/pipeline/store/catalog/test_experiments.py",
    "engine/analysis/decision/early_harm.py": "tests/pipeline/jobs/test_ramps.py",
    "pipeline/results/due_looks.py": "tests/pipeline/jobs/test_look_recording.py",
    "pipeline/store/catalog/column_types.py": "tests/pipeline/store/catalog/test_backends.py",
    "engine/design/goal.py": "tests/engine/design/test_experiment.py",
    "engine/analysis/automation/ramp_findings.py": "tests/pipeline/jobs/test_ramps.py",
    "api/chart_pictures.py": "tests/api/dashboard/test_charts.py",
    "api/middleware/key_in_path.py": "tests/api/mcp/test_key_in_path.py",
    "engine/analysis/results/goal_limits.py": "tests/api/dashboard/results_page/test_goal_rows.py",
    "api/dashboard/results_page/plot.py": "tests/api/dashboard/results_page/test_time_charts.py",
    "api/mcp/guidance.py": "tests/api/mcp/test_tools.py",
    "api/operator/operator_access.py": "tests/api/operator/test_backups.py",
    "api/operator/operator_routes.py": "tests/api/operator/test_backups.py",
    "pipeline/store/warehouse/erasure/erased_events.py": "tests/pipeline/rollup/test_erasing.py",
    "pipeline/store/warehouse/erasure/erased_person.py": "tests/pipeline/erasure/test_person_erasure.py",
    "pipeline/store/warehouse/erasure/segment_texts.py": "tests/pipeline/erasure/test_erased_texts.py",
    "pipeline/store/catalog/quoted_texts.py": "tests/api/erasure/test_marked_person.py",
    "pipeline/erasure/snapshot_rows.py": "tests/pipeline/erasure/test_person_erasure.py",
    "pipeline/erasure/earlier_erasures.py": "tests/pipeline/erasure/test_erased_texts.py",
    "pipeline/erasure/holder.py": "tests/api/erasure/test_marked_person.py",
    "pipeline/erasure/holders.py": "tests/api/erasure/test_marked_person.py",
    "pipeline/erasure/catalog_holders.py": "tests/api/erasure/test_marked_person.py",
    "pipeline/erasure/file_holders.py": "tests/api/erasure/test_marked_person.py",
    "pipeline/erasure/warehouse_holders.py": "tests/api/erasure/test_marked_person.py",
    "pipeline/store/warehouse/erasure/old_events.py": "tests/pipeline/rollup/test_retention.py",
    "pipeline/store/warehouse/erasure/person_ids.py": "tests/pipeline/rollup/test_erasing.py",
    "pipeline/backup_manifest.py": "tests/pipeline/backup/test_restoring.py",
    "pipeline/store/copies/catalog_copy.py": "tests/pipeline/backup/test_restoring.py",
    "pipeline/store/copies/warehouse_copy.py": "tests/pipeline/backup/test_writing.py",
    "engine/shown_result.py": "tests/engine/display/test_displays.py",
    "engine/charts/altair_module.py": "tests/engine/charts/test_report.py",
    "engine/charts/themes.py": "tests/engine/charts/test_forest.py",
    "engine/display/data_rows.py": "tests/engine/display/test_displays.py",
    "engine/display/document.py": "tests/engine/display/test_html_blocks.py",
    "engine/display/figure_documents.py": "tests/engine/display/test_displays.py",
    "engine/display/markdown_text.py": "tests/engine/display/test_displays.py",
    "engine/display/segment_document.py": "tests/engine/display/test_displays.py",
    "api/dashboard/account/account_page.py": "tests/api/dashboard/account/test_api_key_forms.py",
    "api/dashboard/drafts/choice_words.py": "tests/api/dashboard/drafts/test_draft_steps.py",
    "api/dashboard/drafts/draft_form.py": "tests/api/dashboard/drafts/test_draft_pages.py",
    "api/dashboard/drafts/draft_view.py": "tests/api/dashboard/drafts/test_draft_pages.py",
    "api/dashboard/drafts/field_paths.py": "tests/api/dashboard/drafts/test_draft_pages.py",
    "api/dashboard/drafts/field_problems.py": "tests/api/dashboard/drafts/test_draft_pages.py",
    "api/dashboard/drafts/form_fields.py": "tests/api/dashboard/drafts/test_draft_pages.py",
    "api/dashboard/drafts/draft_sample.py": "tests/api/dashboard/drafts/test_draft_plan.py",
    **dict.fromkeys(
        (
            "api/dashboard/project_pages/addresses.py",
            "api/dashboard/project_pages/record_form.py",
            "api/dashboard/project_pages/record_pages.py",
        ),
        "tests/api/dashboard/project_pages/test_settings_page.py",
    ),
    "api/dashboard/project_pages/sent_file.py": "tests/api/dashboard/project_pages/test_run_pages.py",
    "api/dashboard/project_pages/metric_form.py": "tests/api/dashboard/project_pages/test_metric_pages.py",
    "api/dashboard/operations.py": "tests/api/dashboard/test_page_answers.py",
    "api/dashboard/page_errors.py": "tests/api/dashboard/test_page_answers.py",
    "api/dashboard/routes.py": "tests/api/dashboard/test_page_answers.py",
    "api/dashboard/sessions.py": "tests/api/dashboard/test_sign_in.py",
    "api/in_process.py": "tests/api/mcp/test_calls.py",
    "pipeline/distributed/counted_groups.py": "tests/pipeline/distributed/test_distributed_rollup.py",
    "pipeline/distributed/engine.py": "tests/pipeline/distributed/test_distributed_rollup.py",
    "pipeline/distributed/executor_versions.py": "tests/pipeline/distributed/test_spark_cluster.py",
    "pipeline/distributed/named_frames.py": "tests/pipeline/distributed/test_distributed_rollup.py",
    "pipeline/distributed/part_frames.py": "tests/pipeline/distributed/test_spark_cluster.py",
    "pipeline/distributed/persons.py": "tests/pipeline/distributed/test_distributed_rollup.py",
    "pipeline/distributed/scratch.py": "tests/pipeline/distributed/test_distributed_rollup.py",
    "pipeline/distributed/worker_threads.py": "tests/pipeline/distributed/test_process_pool.py",
    "pipeline/events/request_headers/quality_weights.py": (
        "tests/pipeline/events/request_headers/test_language.py"
    ),
    "pipeline/assignment/frame_eligibility.py": "tests/pipeline/assignment/test_frame_assignment.py",
    "pipeline/store/unit_hash_sql.py": "tests/pipeline/assignment/test_frame_assignment.py",
    "engine/analysis/results/answer_reading.py": "tests/truelift/remote/test_answered_reports.py",
    "engine/analysis/results/answered_fields.py": "tests/api/schemas/test_record_answers.py",
    "engine/analysis/results/goal_order.py": "tests/engine/display/test_report_lines.py",
    "engine/validation/named_records.py": "tests/pipeline/snapshots/test_reader.py",
    "truelift/remote/result_frames.py": "tests/truelift/remote/test_remote_service.py",
    "truelift/client/decisions.py": "tests/truelift/client/test_client.py",
    "truelift/client/service_connection.py": "tests/truelift/client/test_client.py",
    "truelift/client/visitor_calls.py": "tests/truelift/client/test_client.py",
    "pipeline/store/event_columns.py": "tests/pipeline/store/warehouse/test_segment_dimensions.py",
    "api/server/request_parser.py": "tests/api/server/test_protocol.py",
    "pipeline/results/nights.py": "tests/api/routes/test_results_as_of.py",
    "engine/frames/frame_goal.py": "tests/engine/frames/test_kinds.py",
    "engine/frames/frame_experiment.py": "tests/engine/frames/test_analyze.py",
    "engine/frames/column_errors.py": "tests/engine/frames/lazy/test_lazy_tables.py",
    "engine/frames/counted_days.py": "tests/engine/frames/test_counts.py",
    "engine/frames/row_parts.py": "tests/engine/frames/test_part_sums.py",
    "engine/frames/segment_rows.py": "tests/engine/frames/test_segments.py",
    "engine/frames/observations.py": "tests/engine/frames/lazy/test_lazy_tables.py",
    "engine/frames/seen.py": "tests/engine/frames/test_analyze.py",
    "engine/analysis/comparison/quantiles.py": "tests/engine/frames/test_kinds_quantile.py",
    "engine/frames/goal_columns.py": "tests/engine/frames/test_measures.py",
    "engine/frames/visitors.py": "tests/engine/frames/test_counts.py",
    "pipeline/store/catalog/metrics/project_metrics.py": (
        "tests/pipeline/store/catalog/metrics/test_metric_repository.py"
    ),
    "pipeline/mail_settings.py": "tests/pipeline/webhooks/test_mail_sending.py",
    "pipeline/webhooks/recipients.py": "tests/pipeline/webhooks/test_destinations.py",
    "pipeline/webhooks/channel_requests.py": "tests/api/routes/webhooks/test_channel_operations.py",
    "pipeline/store/catalog/webhooks/channel_message.py": "tests/pipeline/webhooks/test_project_news.py",
    "pipeline/webhooks/webhook_requests.py": "tests/api/routes/webhooks/test_webhook_operations.py",
    "api/dashboard/account/share_link_list.py": "tests/api/dashboard/sharing/test_link_forms.py",
    "api/middleware/token_in_path.py": "tests/api/dashboard/sharing/test_shared_page.py",
    "pipeline/requests/share_links.py": "tests/api/routes/test_share_links.py",
    "pipeline/store/catalog/sharing/link_endings.py": (
        "tests/pipeline/store/catalog/sharing/test_share_link_repository.py"
    ),
    "pipeline/store/catalog/webhooks/announced_results.py": (
        "tests/pipeline/store/catalog/webhooks/test_webhook_repository.py"
    ),
    "pipeline/store/catalog/webhooks/delivery_repository.py": (
        "tests/pipeline/webhooks/test_webhook_messages.py"
    ),
    "pipeline/store/catalog/webhooks/message_queue.py": "tests/pipeline/webhooks/test_webhook_messages.py",
    "pipeline/store/catalog/webhooks/webhook_records.py": (
        "tests/pipeline/store/catalog/webhooks/test_webhook_repository.py"
    ),
    "pipeline/store/catalog/runs/run_record.py": ("tests/pipeline/store/catalog/runs/test_run_repository.py"),
    "engine/analysis/evidence/senders.py": "tests/pipeline/results/test_senders.py",
    "engine/analysis/evidence/largest_visitors.py": "tests/engine/analysis/comparison/test_influence.py",
    "engine/frames/largest.py": "tests/engine/analysis/comparison/test_influence.py",
    "engine/analysis/evidence/visitor_values.py": "tests/engine/analysis/comparison/test_metrics.py",
    "engine/analysis/comparison/enough_data.py": "tests/engine/analysis/comparison/test_significance.py",
    "engine/analysis/decision/look_statistics.py": (
        "tests/engine/analysis/decision/test_experiment_decision.py"
    ),
    "engine/analysis/health/check_result.py": "tests/engine/analysis/health/test_checks.py",
    "engine/analysis/report/decision_context.py": "tests/engine/analysis/report/test_decision.py",
    "engine/analysis/report/plan_report.py": "tests/engine/analysis/comparison/test_sample_plan.py",
    "engine/analysis/report/estimand.py": "tests/engine/analysis/comparison/test_stratified.py",
    "engine/analysis/report/goal_reports.py": "tests/engine/analysis/test_analyze.py",
    "engine/analysis/report/goal_facts.py": "tests/engine/analysis/report/messages/test_table.py",
    "engine/analysis/report/variant_details.py": "tests/engine/frames/test_values.py",
    "engine/analysis/report/variant_results.py": "tests/engine/analysis/test_analyze.py",
    "engine/analysis/results/variant_result.py": "tests/engine/analysis/test_analyze.py",
    "engine/analysis/results/report.py": "tests/engine/analysis/test_analyze.py",
    "engine/analysis/results/segment_report.py": "tests/engine/analysis/segments/test_analyze.py",
    "engine/analysis/segments/result_rows.py": "tests/engine/analysis/segments/test_analyze.py",
    "engine/analysis/segments/summary.py": "tests/engine/analysis/segments/test_analyze.py",
    "engine/calibration/decisions/daily_quantiles.py": (
        "tests/engine/calibration/decisions/test_measured_days.py"
    ),
    "engine/calibration/decisions/daily_statistics.py": (
        "tests/engine/calibration/decisions/test_daily_decisions.py"
    ),
    "engine/calibration/decisions/measure_cases.py": (
        "tests/engine/calibration/decisions/test_measured_days.py"
    ),
    "engine/calibration/decisions/scenarios.py": (
        "tests/engine/calibration/decisions/test_decision_rates.py"
    ),
    "engine/calibration/decisions/standard_cases.py": (
        "tests/engine/calibration/decisions/test_decision_rates.py"
    ),
    "engine/calibration/measure_errors/measure_cells.py": (
        "tests/engine/calibration/measure_errors/test_error_sides.py"
    ),
    "engine/calibration/measure_errors/typical_moments.py": (
        "tests/engine/calibration/decisions/test_measured_days.py"
    ),
    "engine/calibration/method.py": "tests/engine/calibration/test_methods.py",
    "api/sdk/admission.py": "tests/api/sdk/test_recorded_answers.py",
    "api/sdk/sending_page.py": "tests/api/sdk/test_access.py",
    "api/sdk/script_files.py": "tests/api/sdk/test_scripts.py",
    "api/routes/sdk_scripts.py": "tests/api/sdk/test_scripts.py",
    "pipeline/events/batch_split.py": "tests/pipeline/events/test_body.py",
    "pipeline/results/observation.py": "tests/pipeline/results/test_evidence.py",
    "pipeline/snapshots/experiments.py": "tests/pipeline/snapshots/test_writer.py",
    "pipeline/store/catalog/catalog.py": "tests/pipeline/store/catalog/test_experiments.py",
    "pipeline/store/catalog/schema.py": "tests/pipeline/store/catalog/test_migrate.py",
    "pipeline/store/warehouse/parquet.py": "tests/pipeline/snapshots/test_writer.py",
    "pipeline/assignment/assignment_index.py": "tests/pipeline/assignment/test_project_index.py",
    "pipeline/store/warehouse/visitor_export.py": "tests/api/routes/test_exports.py",
    "pipeline/ingest/errors.py": "tests/pipeline/ingest/test_ingest.py",
    "pipeline/imports/exposed_experiments.py": "tests/pipeline/imports/test_source_import.py",
    "pipeline/imports/source_check.py": "tests/api/cli/imports/test_sources.py",
    "pipeline/imports/source_rows.py": "tests/pipeline/imports/test_source_import.py",
    "pipeline/runs/command_imports.py": "tests/api/cli/imports/test_service_imports.py",
    "pipeline/runs/described_sources.py": "tests/api/routes/imports/test_import_operations.py",
    "pipeline/imports/derived_columns.py": "tests/pipeline/imports/test_plain_events.py",
    "pipeline/runs/run_ends.py": "tests/pipeline/runs/test_runner.py",
    "pipeline/runs/import_stores.py": "tests/pipeline/runs/test_import_work.py",
    "pipeline/imports/import_requests.py": "tests/api/routes/imports/test_import_refusals.py",
    "api/routes/imports/import_body.py": "tests/api/routes/imports/test_import_refusals.py",
    "api/routes/imports/import_query.py": "tests/api/routes/imports/test_import_refusals.py",
    "api/cli/imports/import_report.py": "tests/api/cli/imports/test_importing.py",
    "pipeline/sources/csv_rows.py": "tests/pipeline/sources/test_disk_files.py",
    "pipeline/sources/databases.py": "tests/pipeline/sources/test_locations.py",
    "pipeline/sources/tables.py": "tests/pipeline/sources/test_disk_files.py",
    "pipeline/store/source_databases/duckdb_file.py": "tests/pipeline/sources/test_locations.py",
    "pipeline/store/source_databases/queries.py": "tests/pipeline/sources/test_locations.py",
    "pipeline/store/source_databases/spark_query.py": "tests/pipeline/warehouse/test_spark_warehouse.py",
    "pipeline/store/source_databases/warehouse_drivers.py": (
        "tests/pipeline/store/source_databases/test_driver_query.py"
    ),
    "pipeline/ingest/submissions.py": "tests/pipeline/ingest/test_ingest.py",
}


def test_every_module_has_a_test_file_of_its_own_or_a_named_one() -> None:
    missing = set()
    for path in modules():
        tests = {found.stem for found in (ROOT / "tests" / path.parent).glob("test_*.py")}
        own = f"test_{path.stem}"
        if own not in tests and not any(name.startswith(f"{own}_") for name in tests):
            missing.add(path.as_posix())
    assert {path for path in missing if not path.startswith(tuple(TESTED_TOGETHER))} == set(TESTED_BY)


def test_tests_that_cover_other_modules_are_there() -> None:
    assert [path for path in TESTED_BY.values() if not (ROOT / path).is_file()] == []
