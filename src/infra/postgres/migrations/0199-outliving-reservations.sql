-- What is held for a job at a vendor is not ended with the process that submitted it: another one reads what became of it.

alter table reservations add column outlives_process boolean not null default false;
