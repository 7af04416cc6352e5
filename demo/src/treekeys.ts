// Keys of a tree: up and down go through what is visible, right and left open, close, go in
// and go out, Home and End go to the ends, and letters to the next item that begins so.

const FORGET = 700 // milliseconds after which a letter begins a new search

/** Has the buttons of the items of a tree follow the keyboard. One of them is in the order of tabs. */
export function followKeys(tree: HTMLElement): void {
  let typed = ''
  let at = 0
  tree.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const all = [...tree.querySelectorAll<HTMLElement>('[role=treeitem] > button')]
    const button = document.activeElement as HTMLElement
    const index = all.indexOf(button)
    const item = button.parentElement
    if (index < 0 || !item) return
    const expanded = item.getAttribute('aria-expanded')
    const parent = item.parentElement
      ?.closest('[role=treeitem]')
      ?.querySelector<HTMLElement>(':scope > button')
    const child = item.querySelector<HTMLElement>(':scope > [role=group] > [role=treeitem] > button')
    const go = (to: HTMLElement | null | undefined) => {
      if (to) focusIn(tree, to)
    }
    const search = () => {
      if (event.timeStamp - at > FORGET) typed = ''
      typed += event.key.toLowerCase()
      at = event.timeStamp
      const from = typed.length === 1 ? index + 1 : index
      const order = [...all.slice(from), ...all.slice(0, from)]
      go(order.find(one => keyOf(one).startsWith(typed)))
    }
    switch (event.key) {
      case 'ArrowDown':
        go(all[index + 1])
        break
      case 'ArrowUp':
        go(all[index - 1])
        break
      case 'Home':
        go(all[0])
        break
      case 'End':
        go(all.at(-1))
        break
      case 'ArrowRight':
        if (expanded === 'false') button.click()
        else go(child)
        break
      case 'ArrowLeft':
        if (expanded === 'true' && child) button.click()
        else go(parent)
        break
      default:
        if (event.key.length !== 1 || event.key === ' ') return
        search()
    }
    event.preventDefault()
  })
}

const keyOf = (button: HTMLElement): string => button.querySelector('.key')?.textContent?.toLowerCase() ?? ''

/** Makes a button the one of its tree that Tab goes to. */
export function tabTo(tree: HTMLElement, button: HTMLElement): void {
  for (const other of tree.querySelectorAll<HTMLElement>('button[tabindex="0"]')) other.tabIndex = -1
  button.tabIndex = 0
}

function focusIn(tree: HTMLElement, button: HTMLElement): void {
  tabTo(tree, button)
  button.focus()
}
