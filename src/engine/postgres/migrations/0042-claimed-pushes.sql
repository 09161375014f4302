-- Who pushes it now: two who look at once must not both. The claim of a process that died holds nothing up.
alter table notification_deliveries add column claimed_by ulid;
