-- Snapshots that are being made: looked at while computers are looked after, and few.

create index computer_snapshots_creating on computer_snapshots (computer_id) where status = 'creating';
