-- What a lock's uncontended paths are made of was stored under way_<object>_<path>_<count>.
UPDATE metrics SET name = 'path_' || substr(name, 5) WHERE name GLOB 'way_*';
