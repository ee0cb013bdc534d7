import { Kind, parse } from 'graphql';

/** A list whose size the query does not say, and a query that cannot be read. */
const UNKNOWN = 100;
const QUERY_MAX_CHARS = 10_000;

/** Cost of a GraphQL request: 1 for each field, times the sizes of the lists that it stands in. */
export function costOfQuery({ query, variables } = {}) {
  if (typeof query !== 'string' || query.length > QUERY_MAX_CHARS) return UNKNOWN;
  try {
    const { definitions } = parse(query, { noLocation: true, maxTokens: 2000 });
    const isFragment = ({ kind }) => kind === Kind.FRAGMENT_DEFINITION;
    const fragments = new Map(definitions.filter(isFragment).map((fragment) => [fragment.name.value, fragment]));
    const costs = new Map();
    const costOf = (node) => {
      // Each fragment is worked out once, however often it is used; one inside itself is no valid query.
      if (node.kind === Kind.FRAGMENT_SPREAD) return costOfFragment(node.name.value);
      const inside = (node.selectionSet?.selections ?? []).reduce((sum, inner) => sum + costOf(inner), 0);
      return node.kind === Kind.FIELD ? 1 + sizeOf(node, variables) * inside : inside;
    };
    const costOfFragment = (name) => {
      if (!costs.has(name)) {
        costs.set(name, Number.POSITIVE_INFINITY);
        costs.set(name, costOf(fragments.get(name)));
      }
      return costs.get(name);
    };
    const operations = definitions.filter((definition) => !isFragment(definition));
    return Math.min(Number.MAX_SAFE_INTEGER, Math.max(1, ...operations.map(costOf)));
  } catch {
    return UNKNOWN;
  }
}

/** `first`, `last` or `limit` of a list; 1 for what is no list. */
function sizeOf({ arguments: given }, variables) {
  const size = given.find(({ name }) => ['first', 'last', 'limit'].includes(name.value))?.value;
  if (size === undefined) return 1;
  const value = size.kind === Kind.VARIABLE ? variables?.[size.name.value] : Number(size.value);
  return Number.isSafeInteger(value) && value >= 0 ? value : UNKNOWN;
}
