// The tree of the database with one place of it live, and the operations of the sample.

import { h } from './dom.js'
import { model } from './model.js'
import { operationsView } from './operations.js'
import type { View } from './page.js'
import { Place } from './place.js'
import { Tree } from './tree.js'

export const explorer: View = {
  id: 'explorer',
  title: 'Explorer',
  make(client) {
    const place = new Place(client)
    const tree: Tree = new Tree(
      path => place.show(path, tree.reader),
      path => place.told(path)
    )
    tree.begin()
    return h(
      'div',
      { class: 'explorer' },
      h(
        'section',
        { class: 'browser', 'aria-labelledby': 'tree-title' },
        h('h1', { id: 'tree-title' }, model.title),
        h('p', { class: 'lead' }, model.about),
        h('label', { class: 'reader' }, 'Read as ', tree.choice(client.person)),
        tree.element,
        place.element
      ),
      operationsView()
    )
  }
}
