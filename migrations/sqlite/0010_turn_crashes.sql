-- How often the process ended while a Turn ran. A Turn that was open at two such ends in a row fails instead of being
-- taken up: what it does may be what ends the process.
ALTER TABLE turn ADD COLUMN crashes INTEGER NOT NULL DEFAULT 0;
