import { expect, test } from 'vitest'
import { leaf } from '../../src/core/node.js'
import type { Scalar } from '../../src/core/scalar.js'
import { estimate } from '../../src/core/servervalue.js'

const estimated = (sv: object, old: Scalar | null) =>
  estimate(leaf({ '.sv': sv } as Scalar, null), 7, () => leaf(old, null)).value

test('operations with the number that is there are estimated', () => {
  for (const [sv, old, want] of [
    [{ increment: 2 }, 3, 5],
    [{ increment: 2 }, 'text', 2],
    [{ max: 2 }, 3, 3],
    [{ max: 4 }, 3, 4],
    [{ max: 4 }, null, 4],
    [{ max: 0 }, -1, 0],
    [{ min: 2 }, 3, 2],
    [{ min: 4 }, 3, 3],
    [{ min: 0 }, 'text', 0]
  ] as const)
    expect(estimated(sv, old), JSON.stringify([sv, old])).toBe(want)
})
