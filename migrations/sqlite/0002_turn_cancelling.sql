-- Why a Turn is being stopped: recorded before anybody is told so, that no crash lets it go on.
ALTER TABLE turn ADD COLUMN cancelling TEXT;
