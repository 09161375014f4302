-- Credits of sign-up that wait until the address of the account is known to be its own.
alter table accounts add column promised_nano bigint;
