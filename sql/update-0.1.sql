-- Removes what version 0.1 created. The whole of gpujoin.sql follows it in the update
-- script, so an object that is added there is in new and in updated installations.
DROP VIEW devices, links;
DROP FUNCTION status();
DROP FUNCTION daemon_status();
REVOKE USAGE ON SCHEMA gpujoin FROM pg_monitor;

