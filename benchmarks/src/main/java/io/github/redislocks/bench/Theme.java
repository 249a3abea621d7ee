package io.github.redislocks.bench;

import java.awt.Color;
import java.awt.Font;
import org.jfree.chart.JFreeChart;
import org.jfree.chart.StandardChartTheme;
import org.jfree.chart.renderer.category.StandardBarPainter;

/** The look of pictures on light and on dark pages. The names of dark files end with {@code -dark}. */
enum Theme {
    LIGHT("", 0xFFFFFF, 0x1F2328, 0xD1D9E0),
    DARK("-dark", 0x0D1117, 0xE6EDF3, 0x3D444D);

    static final Font TITLE = new Font(Font.SANS_SERIF, Font.BOLD, 15);
    static final Font TEXT = TITLE.deriveFont(Font.PLAIN, 12f);

    final String suffix;
    final Color page;
    final Color text;
    private final Color grid;

    Theme(String suffix, int page, int text, int grid) {
        this.suffix = suffix;
        this.page = new Color(page);
        this.text = new Color(text);
        this.grid = new Color(grid);
    }

    void apply(JFreeChart chart) {
        StandardChartTheme theme = new StandardChartTheme(name());
        theme.setExtraLargeFont(TITLE);
        theme.setLargeFont(TEXT);
        theme.setRegularFont(TEXT);
        theme.setChartBackgroundPaint(page);
        theme.setPlotBackgroundPaint(page);
        theme.setLegendBackgroundPaint(page);
        theme.setPlotOutlinePaint(page);
        theme.setTitlePaint(text);
        theme.setSubtitlePaint(text);
        theme.setLegendItemPaint(text);
        theme.setAxisLabelPaint(text);
        theme.setTickLabelPaint(text);
        theme.setItemLabelPaint(text);
        theme.setErrorIndicatorPaint(text);
        theme.setRangeGridlinePaint(grid);
        theme.setDomainGridlinePaint(grid);
        theme.setShadowVisible(false);
        theme.setBarPainter(new StandardBarPainter());
        theme.apply(chart);
    }
}
