-- Why a run was refused, as whoever sent it is told: with what is left of their balance, their key and what they pay under.
-- All others who read the chat read `error`.
alter table runs add column payer_error jsonb;
