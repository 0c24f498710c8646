export const TEMPLATE = `<main>
  <h1>{{ state.title }}</h1>
  <p class="price">Price: <b>{{ state.price }}</b> now</p>
  <aside v-if="state.box !== null" class="box"><span>{{ state.box }}</span></aside>
  <p class="after">{{ state.title }}</p>
  <ul>
    <li v-for="item in state.items" :key="item.id" :class="item.isSale ? 'sale' : ''">{{ item.name }}</li>
  </ul>
  <div class="fill"><em v-if="state.isFull">{{ state.price }}</em>{{ state.title }}</div>
  <button @click="click">Buy {{ state.price }}</button>
</main>`;
