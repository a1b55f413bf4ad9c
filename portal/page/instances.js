import {pluralize} from './element.js';

// How the page counts instances: those that run and have announced a public port, as instances.json lists them. The
// start, the page of a service and the map all count here.

/** The number of instances of a service: "3 instances, 1 not ready". */
export function instancesText(list = []) {
  const notReady = list.filter((one) => one.notReady).length;
  return pluralize(list.length, 'instance') + (notReady > 0 ? `, ${notReady} not ready` : '');
}

/** The number of all instances of these hosts. */
export function allInstancesText(hosts, instances) {
  return instancesText(hosts.flatMap((host) => instances[host] || []));
}

/** The instances of a node of the map, with what the figures know of each: the version, and since when it runs. */
export function countedInstances(node, instances) {
  const known = new Map(node.instances.map((one) => [one.id, one]));
  return instances[node.name]?.map((one) => ({...known.get(one.id), ...one})) || node.instances;
}
