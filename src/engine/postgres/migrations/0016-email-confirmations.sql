-- When somebody was last sent a mail to confirm their address.
alter table notification_configs add column confirmation_sent_at timestamptz(3);
