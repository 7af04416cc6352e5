// The demonstration of a sample: signs in as somebody, and shows what the sample is about
// with the explorer beside it.

import type { DogwoodError } from '@dogwood/client'
import { notify, outcomeOf } from './attempt.js'
import { chat } from './chat/chat.js'
import { connect } from './client.js'
import { decisions } from './decisions.js'
import { introduce } from './dom.js'
import { explorer } from './explorer.js'
import { model, personOf, sample } from './model.js'
import { keepPage } from './offline.js'
import { org } from './org/org.js'
import { page, restoreTheme, type View } from './page.js'
import { social } from './social/social.js'

const own: Record<string, View> = { chat, org, social }

async function start(): Promise<void> {
  restoreTheme()
  introduce(model.people.map(({ id, uid }) => uid ?? id))
  const person = personOf(new URLSearchParams(location.search).get('as') ?? '') ?? model.people[0]!
  const onRefused = (error: DogwoodError, path: string) =>
    void outcomeOf({ person }, [], () => Promise.reject(error)).then(outcome =>
      notify(error.code === 'TRANSACTION_LOST' ? `Lost: ${path}` : 'Kept from before, and refused', outcome)
    )
  const client = await connect(person, { keep: true, onRefused })
  const view = own[sample]
  page(client, view ? [view, explorer] : [explorer])
  decisions.follow()
  void keepPage()
  document.body.dataset.ready = ''
  Object.assign(window, { flush: () => client.persistence?.flush() })
}

void start()
