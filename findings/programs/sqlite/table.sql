-- A row for each page of 4,096 bytes: 16 MiB.
CREATE TABLE segments AS
WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 4096)
SELECT number, zeroblob(4000) AS bytes FROM numbers;
