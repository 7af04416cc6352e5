import { invalid } from './errors.js'
import { compareValues, type Index, type Sortable, type SortableList, sortable } from './order.js'
import type { Path } from './path.js'

/** The values of a child in an order by several children. It is apart, for pages without such orders. */
class List extends Array<Sortable> {
  /** Compares value by value. A prefix, as a bound may be, is equal as far as it goes. */
  compare(other: SortableList): number {
    for (let i = 0; i < this.length && i < other.length; i++) {
      const order = compareValues(this[i]!, other[i]!)
      if (order) return order
    }
    return 0
  }
}

/** The order by the values at several paths below each child, by the first one first. */
export function childrenIndex(paths: readonly Path[]): Index {
  const names = paths.map(path => path.join('/'))
  return {
    id: JSON.stringify(names),
    paths: names,
    check(value, key) {
      if (!Array.isArray(value) || !value.length || value.length > names.length)
        invalid(`bounds of orderByChildren are lists of 1 to ${names.length} values`)
      if (key && key[0] !== '[' && value.length < names.length)
        invalid('a bound with a key has a value for each path')
    },
    of: node => List.from(paths, path => sortable(node.at(path))) as List
  }
}
