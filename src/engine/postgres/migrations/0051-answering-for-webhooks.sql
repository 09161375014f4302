-- Who answers for what an endpoint is sent: whoever set it up, changed what is sent or where to, or switched it on last.
-- Nothing goes there any more once they may no longer have it sent.
alter table webhook_endpoints add column account_id ulid;
update webhook_endpoints set account_id = created_by;
alter table webhook_endpoints drop constraint webhook_endpoints_disabled_reason_check;
alter table webhook_endpoints add constraint webhook_endpoints_disabled_reason_check
  check (disabled_reason in ('manual', 'failing', 'gone', 'rights_lost'));
