-- A webhook endpoint that was made before its account came to the owner of its address is switched off.
alter table webhook_endpoints drop constraint webhook_endpoints_disabled_reason_check,
  add constraint webhook_endpoints_disabled_reason_check
  check (disabled_reason in ('manual', 'failing', 'gone', 'rights_lost', 'account_recovered'));
